package dev.flow.launcher;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A directory with unpacked programs, which later runs use again.
 *
 * <p>JVMs run what is in it. So only this user may write to it, and each run compares all files with their
 * checksums. A file appears under its name when it is complete: programs that start at the same time do not
 * disturb each other. Directories are named by their content, so no file that is in use is ever replaced by
 * another version.
 */
final class Cache {
    private static final FileAttribute<Set<PosixFilePermission>> OWNER_ONLY =
        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));

    private Cache() {}

    /**
     * Returns the directories in which programs may be unpacked, the preferred one first: the cache of the user,
     * then the directory for temporary files, which serves those without a home or with one that is read-only.
     */
    static List<Path> places(Map<String, String> environment) throws IOException {
        List<Path> places = new ArrayList<>();
        String cache = environment.getOrDefault("XDG_CACHE_HOME", "");
        String home = environment.getOrDefault("HOME", "");
        // The specification of these variables says that relative paths are ignored.
        if (cache.startsWith("/")) {
            places.add(Paths.get(cache, "flow"));
        } else if (home.startsWith("/")) {
            places.add(Paths.get(home, ".cache", "flow"));
        }
        // The number, because users of containers often have no name.
        places.add(Paths.get(System.getProperty("java.io.tmpdir"), "flow-" + user()));
        return places;
    }

    /** Unpacks programs into the first place that is usable, unless they are there. Returns their directory. */
    static Path unpack(Payload payload, List<Path> places) throws Refusal {
        List<String> reasons = new ArrayList<>();
        for (Path place : places) {
            try {
                return unpack(payload, place);
            } catch (Refusal refusal) {
                reasons.add(refusal.getMessage());
            } catch (IOException error) {
                reasons.add(error.toString());
            }
        }
        throw new Refusal("no directory to unpack flow into; set XDG_CACHE_HOME to one that is writable and from"
            + " which programs may be run. Tried:\n  " + String.join("\n  ", reasons));
    }

    private static Path unpack(Payload payload, Path place) throws IOException, Refusal {
        if (place.getParent() != null) {
            Files.createDirectories(place.getParent());
        }
        makePrivate(place);
        Path directory = place.resolve(payload.id());
        makePrivate(directory);
        for (Map.Entry<String, String> file : payload.checksums().entrySet()) {
            Path path = directory.resolve(file.getKey());
            if (!isIntact(path, file.getValue())) {
                write(payload, file.getKey(), path);
                if (!isIntact(path, file.getValue())) {
                    throw new Refusal(path + ": wrong checksum after unpacking; the jar is damaged, get it again");
                }
            }
        }
        // False on a file system that is mounted with noexec, whatever the mode of the file.
        if (!Files.isExecutable(directory.resolve(Payload.PROGRAM))) {
            throw new Refusal(directory + ": no program may be run there (noexec); set XDG_CACHE_HOME to a directory"
                + " of another file system");
        }
        return directory;
    }

    /** Creates a directory, or checks that nobody else can have put anything into it. */
    private static void makePrivate(Path directory) throws IOException, Refusal {
        try {
            Files.createDirectory(directory, OWNER_ONLY);
            return;
        } catch (FileAlreadyExistsException exists) {
            // From an earlier run, or from someone who guessed the name.
        }
        if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)) {
            throw new Refusal(directory + ": exists and is not a directory; remove it");
        }
        if (!user().equals(Files.getAttribute(directory, "unix:uid", LinkOption.NOFOLLOW_LINKS))) {
            throw new Refusal(directory + ": belongs to another user; remove it, or set XDG_CACHE_HOME to a directory of"
                + " your own");
        }
        Set<PosixFilePermission> mode = Files.getPosixFilePermissions(directory, LinkOption.NOFOLLOW_LINKS);
        if (mode.contains(PosixFilePermission.GROUP_WRITE) || mode.contains(PosixFilePermission.OTHERS_WRITE)) {
            throw new Refusal(directory + ": other users may write to it; run chmod go-w " + directory);
        }
    }

    /** Returns the id of the user that this process runs as. */
    private static Object user() throws IOException {
        return Files.getAttribute(Paths.get("/proc/self"), "unix:uid");
    }

    private static boolean isIntact(Path path, String checksum) throws IOException {
        if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        MessageDigest digest = Payload.sha256();
        byte[] buffer = new byte[1 << 16];
        try (InputStream in = Files.newInputStream(path)) {
            for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                digest.update(buffer, 0, count);
            }
        }
        return Payload.hex(digest.digest()).equals(checksum);
    }

    private static void write(Payload payload, String name, Path path) throws IOException {
        // Not a temporary file of the library: its random name may need seconds where there is no /dev/random.
        Path part = path.resolveSibling(name + '.' + Long.toHexString(System.nanoTime()) + ".part");
        try {
            try (InputStream in = payload.open(name)) {
                Files.copy(in, part);
            }
            Files.setPosixFilePermissions(part, PosixFilePermissions.fromString("rwx------"));
            Files.move(part, path, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(part);
        }
    }
}
