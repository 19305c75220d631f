#!/bin/sh
# Installs flow from the directory of this script: ./install.sh [PREFIX]
#
# PREFIX is where bin, lib and share are: by default /usr/local for root, and ~/.local for others. To remove flow, remove
# what this script lists.
set -eu
from=$(cd "$(dirname "$0")" && pwd)

if [ $# -gt 1 ]; then set -- --help; fi
case ${1-} in -*)
    echo "usage: install.sh [PREFIX]" >&2
    exit 2
    ;;
esac
if [ $# = 1 ]; then
    prefix=$1
elif [ "$(id -u)" = 0 ]; then
    prefix=/usr/local
else
    prefix=${HOME:?"is not set; name the directory to install to: install.sh PREFIX"}/.local
fi

"$from/bin/flow" --version >/dev/null || {
    echo "install.sh: flow does not run here: it needs Linux on the processor that the name of the archive has, and the" \
        "GNU C library; on Alpine take the archive with musl in its name" >&2
    exit 1
}

# What root installs is for everybody, whatever the umask of root.
if [ "$(id -u)" = 0 ]; then
    umask 022
    publish() { chmod -R a+rX "$1"; }
else
    publish() { :; }
fi

# Each file replaces the old one when it is complete: a program that starts meanwhile finds one of the two, and one that
# runs, or a JVM that has loaded the library, keeps the old one.
mkdir -p "$prefix"
(cd "$from" && find bin lib share -type f) | while read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    new=$prefix/$file.new-$$
    cp "$from/$file" "$new" && publish "$new" && mv -f "$new" "$prefix/$file" || {
        rm -f "$new"
        exit 1
    }
    echo "$prefix/$file"
done
documents=$prefix/share/doc/flow
rm -rf "$documents"
mkdir -p "$documents"
(cd "$from" && cp -R README.md CHANGELOG.md LICENSE* THIRD-PARTY-LICENSES.txt docs examples "$documents")
publish "$documents"
echo "$documents"

"$prefix/bin/flow" --version
case ":$PATH:" in
*":$prefix/bin:"*) echo "Try: flow record -- java -jar app.jar" ;;
*) echo "Try: $prefix/bin/flow record -- java -jar app.jar (or add $prefix/bin to the PATH)" ;;
esac
