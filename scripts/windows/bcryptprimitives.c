// Random numbers for Rust's standard library, in Wine before version 9, which lacks this library of Windows.
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T bytes) {
    return RtlGenRandom(data, (ULONG)bytes);
}
