"""Which kind of file system a folder is on: a database shared over a network loses writes."""

from __future__ import annotations

import os
import sys

from engram.errors import StoreUnavailable

NETWORK = frozenset(
    """
    nfs nfs4 cifs smb smb2 smb3 smbfs afs afpfs ncpfs webdav davfs fuse.davfs fuse.sshfs sshfs
    fuse.rclone glusterfs fuse.glusterfs lustre ceph fuse.ceph beegfs gpfs ocfs2 gfs2 vboxsf
    fuse.vmhgfs-fuse prl_fs fuse.s3fs fuse.gcsfuse fuse.juicefs
    """.split()
)
MOUNTS = "/proc/self/mounts"


def kind_of(folder: str, mounts: str = MOUNTS) -> str:
    """Name of the file system that holds `folder` (`ext4`, `nfs4`, …), or `unknown`."""
    place = os.path.realpath(folder)
    if sys.platform == "win32":
        return _windows_kind(place)
    if sys.platform == "darwin":
        return _from_mount_command(place)
    return _from_mounts(place, mounts)


def refuse_network(folder: str, mounts: str = MOUNTS) -> None:
    """Raise `StoreUnavailable` when `folder` is on a network file system."""
    kind = kind_of(folder, mounts)
    if kind in NETWORK:
        raise StoreUnavailable(
            f"{folder}: is on a network file system ({kind}), where SQLite cannot keep writes of two programs apart",
            hint="set ENGRAM_DATA_DIR to a folder on a local disk",
        )


def _from_mounts(place: str, mounts: str) -> str:
    try:
        with open(mounts, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return "unknown"
    best, kind = "", "unknown"
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def _from_mount_command(place: str) -> str:
    import subprocess

    try:
        lines = subprocess.run(
            ["/sbin/mount"], capture_output=True, text=True, timeout=5, check=True
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    best, kind = "", "unknown"
    for line in lines:  # //user@server/share on /Volumes/share (smbfs, nodev, …)
        point, found, rest = line.partition(" on ")[2].rpartition(" (")
        if found and (place == point or place.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, rest.partition(",")[0].rstrip(")")
    return kind


def _windows_kind(place: str) -> str:
    if place.startswith(("\\\\", "//")):
        return "smb"
    import ctypes

    drive = os.path.splitdrive(place)[0] + "\\"
    windll = getattr(ctypes, "windll", None)
    remote = windll is not None and windll.kernel32.GetDriveTypeW(drive) == 4
    return "smb" if remote else "local"
