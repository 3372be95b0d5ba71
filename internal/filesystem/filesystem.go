// Package filesystem says of what type a file system is, and whether a lock and an fsync hold
// there.
package filesystem

import "fmt"

// Type is the number by which statfs names the type of a file system.
type Type uint32

// Untold is the type where the system tells none of Linux's numbers. No file system has it.
const Untold Type = 1

// FUSE is one of them.
const FUSE Type = 0x65735546

// refused are the types on which a lock may hold on this host only, or an fsync may
// return before the other side has the data.
//
// Each number is one that statfs(2) returns. Those marked with m are in Linux's
// include/uapi/linux/magic.h, those with s in the source of the file system in Linux (fs/gfs2,
// fs/orangefs/protocol.h, fs/vboxsf/super.c and so on). The others come from modules of their own.
// GNU coreutils (src/stat.c, the types marked remote) has all of those but wekafs, and libvirt
// (src/util/virfile.c) has acfs, beegfs and gpfs with where they are defined.
//
// FUSE is among them although it also serves local disks: its number does not tell sshfs from
// ntfs-3g, and a duplicate costs more than another directory does. So is VxFS, which one host or a
// cluster may have mounted. 9p, hostfs and the shared folders of hypervisors share a directory
// between machines.
var refused = map[Type]string{
	0x6969:     "a network file system (nfs)",                                    // m
	0x517b:     "a network file system (smb)",                                    // m
	0xff534d42: "a network file system (cifs)",                                   // m
	0xfe534d42: "a network file system (smb2)",                                   // m
	0x564c:     "a network file system (ncp)",                                    // m
	0x5346414f: "a network file system (afs)",                                    // m: AFS_SUPER_MAGIC
	0x6b414653: "a network file system (afs)",                                    // m: AFS_FS_MAGIC, Linux's own client
	0:          "a file system that tells no type, as a network's (afs)",         // OpenAFS: src/afs/LINUX/osi_vfsops.c, afs_statfs
	0x73757245: "a network file system (coda)",                                   // m
	0x00c36400: "a network file system (ceph)",                                   // m
	0x0bd00bd0: "a network file system (lustre)",                                 // Lustre: lustre_user.h, LL_SUPER_MAGIC
	0x47504653: "a network file system (gpfs)",                                   // IBM Storage Scale
	0x20030528: "a network file system (orangefs)",                               // s: pvfs2 as well
	0x19830326: "a network file system (beegfs)",                                 // BeeGFS: FhgfsOpsSuper.h, BEEGFS_MAGIC
	0xaad7aaea: "a network file system (panfs)",                                  // Panasas
	0x013111a8: "a network file system (ibrix)",                                  // HP
	0x18031977: "a network file system (wekafs)",                                 // WEKA, as stat -f prints it
	0x01161970: "a cluster's file system (gfs2)",                                 // s
	0x7461636f: "a cluster's file system (ocfs2)",                                // m
	0xbeefdead: "a cluster's file system (snfs)",                                 // StorNext
	0x61636673: "a cluster's file system (acfs)",                                 // Oracle
	0xa501fcf5: "a file system that a cluster may share (vxfs)",                  // Veritas; Linux's fs/freevxfs reads it
	0x01021997: "a file system shared by machines (9p)",                          // m
	0x00c0ffee: "a file system shared by machines (hostfs)",                      // m: user-mode Linux
	0x786f4256: "a file system shared by machines (vboxsf)",                      // s: VirtualBox
	0xbacbacbc: "a file system shared by machines (vmhgfs)",                      // VMware: open-vm-tools, HGFS_SUPER_MAGIC
	0x7c7c6673: "a file system shared by machines (prl_fs)",                      // Parallels
	FUSE:       "a FUSE file system, which may be a network's (sshfs, virtiofs)", // s: fs/fuse/inode.c
}

// kernels show what the kernel has, and nobody makes a file there, although root may write
// to their directories by what access(2) says. All are in magic.h.
var kernels = map[Type]string{
	0x9fa0: "proc", 0x62656572: "sysfs", 0x1cd1: "devpts", 0x64626720: "debugfs", 0x74726163: "tracefs", 0x73636673: "securityfs",
	0x27e0eb: "cgroup", 0x63677270: "cgroup2",
}

// volatile are local, and say when all that is on them is lost: at a reboot (magic.h), or with the
// container whose layer it is (overlay in magic.h; aufs: Docker's driver of old, in coreutils).
var volatile = map[Type][2]string{
	0x01021994: {"tmpfs", atReboot},
	0x858458f6: {"ramfs", atReboot},
	0x794c7630: {"overlay", withContainer},
	0x61756673: {"aufs", withContainer},
}

const (
	atReboot      = "is lost at a reboot: name a directory on a disk"
	withContainer = "is lost with the container: mount a volume there"
)

// Refused returns what to call the type, if nothing that needs a lock or an fsync may be on it.
func (t Type) Refused() (name string, is bool) {
	name, is = refused[t]
	return name, is
}

// Kernels returns what to call the type, if the file system is the kernel's own.
func (t Type) Kernels() (name string, is bool) {
	name, is = kernels[t]
	return name, is
}

// Volatile says why what is on the file system may be lost although no disk fails, and what to do;
// empty: no reason is known.
func (t Type) Volatile() string {
	of, is := volatile[t]
	if !is {
		return ""
	}
	return fmt.Sprintf("it is on %s, which %s", of[0], of[1])
}
