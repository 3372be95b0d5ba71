package journal

// fileSystemType is the number by which statfs names the type of a file system.
type fileSystemType uint32

// The types are those of statfs(2). A lock on them may hold on this host only,
// or an fsync may return before the other side has the data. FUSE is among them
// although it also serves local disks: its number does not tell sshfs from
// ntfs-3g, and a duplicate costs more than another directory does. So is 9p,
// which shares a directory between virtual machines.
var refusedFileSystems = map[fileSystemType]string{
	0x6969:     "a network file system (nfs)",
	0x517b:     "a network file system (smb)",
	0xff534d42: "a network file system (cifs)",
	0xfe534d42: "a network file system (smb2)",
	0x564c:     "a network file system (ncp)",
	0x5346414f: "a network file system (afs)",
	0x6b414653: "a network file system (afs)",
	0x73757245: "a network file system (coda)",
	0x00c36400: "a network file system (ceph)",
	0x0bd00bd0: "a network file system (lustre)",
	0x47504653: "a network file system (gpfs)",
	0x01161970: "a cluster's file system (gfs2)",
	0x7461636f: "a cluster's file system (ocfs2)",
	0x01021997: "a file system shared by machines (9p)",
	0x65735546: "a FUSE file system, which may be a network's (sshfs, virtiofs)",
}

// refused returns what to call the type, if a state directory must not be on it.
func (t fileSystemType) refused() (name string, refused bool) {
	name, refused = refusedFileSystems[t]
	return name, refused
}
