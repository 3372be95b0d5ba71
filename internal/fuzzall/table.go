package main

import (
	"fmt"
	"io"
	"strings"
)

// row is one kind of bytes that come from outside, and what fuzzes its reading.
type row struct {
	what     string // the bytes
	pkg      string // below the module's path
	parsers  string // the functions that read them, separated by blanks
	targets  string // separated by blanks
	property string // what holds, whatever the bytes are
}

// table is all that reads bytes from outside, what runs in production first.
var table = []row{
	{"rates of users", "daemon/issue", "ParseRate ParseRates", "FuzzRates", "what is accepted reads back to the same, as it is shown"},
	{"requests of clients, RESP and inline", "daemon/resp", "parse parseInline decode", "FuzzServe", "however the bytes are split into reads, the replies are the same, are whole, and little is kept"},
	{"first lines of connections, connections", "daemon/serve", "dialectOf asks names", "FuzzDialect FuzzConnection",
		"told the same in however many parts they arrive; HTTP if and only if they end in its version; a connection ends with its client, and the next client gets an ID"},
	{"requests of HTTP", "daemon/rest", "parse decode count tenant number accepts parseObject", "FuzzRequest FuzzCompat", "answered with what was asked for, or with a problem whose status fits; no ID is taken for what is refused"},
	{"messages of gRPC and Connect", "daemon/rpc", "Next Run Decode Stream", "FuzzMessage", "answered, or refused with a code; IDs are taken for what is answered alone, and no more than a request may have"},
	{"what is asked of the page", "daemon/page", "takeApart", "FuzzPage", "shown as text: the page has the elements that it has for any other word"},
	{"replies of daemons", "internal/wire", "Int Ints Runs Bulk Bulks IDs", "FuzzReader", "the same byte by byte; of runs no more IDs than were asked for, none below 0; written anew they read as the same"},
	{"refusals of daemons, INFO of what may be none", "client", "unavailable maxCount", "FuzzUnavailable FuzzMaxCount", "its reason is in the text, and no time is below 0; the limit that the first line says, or none"},
	{"kubelet's requests for volumes", "csi", "parsePublish parseVolume", "FuzzPublish", "refused as wrong, or the directory's name and the line for the daemon have their forms, and both requests mean the same directory"},
	{"messages of a takeover", "daemon/takeover", "read", "FuzzRead", "a message of the kind that was waited for, or an error and no open descriptor"},
	{"the kernel's notices of pods' directories, pods' names", "daemon/pods", "parse wrongUser", "FuzzParse FuzzUser", "no more names than bytes; a user is one printable word with a namespace"},
	{"ranges of worker IDs", "coord", "ParseWorkerRange", "FuzzParseWorkerRange", "what is accepted prints to what reads back to the same"},
	{"the journal", "daemon/journal", "decode bodyOf contentsOf", "FuzzDecode FuzzBody", "what is accepted is byte for byte what would be written"},
	{"the lock of the state directory, and of a user", "internal/filelock", "readPID", "FuzzPID", "the process that is told is the one that it names, or none"},
	{"VMClock's page", "daemon/vmclock", "parseHeader", "FuzzHeader", "used if and only if the words that say so do; reading changes nothing"},
	{"records, the cluster record, claims' values, hosts", "coord/claims", "decode decodeRecord decodeLayout decodeMember decodeHost", "FuzzDecodeRecord FuzzDecodeLayout FuzzDecodeMember FuzzDecodeHost",
		"an error comes with nothing; what is accepted is possible, and is encoded to what decodes to the same"},
	{"histories", "coord/claims", "decodeHistory", "FuzzDecodeHistory", "the same, and its ticks never fall"},
	{"etcd: names of claims", "coord/etcd", "parseName Parse", "FuzzParseName", "what is accepted is printed as it was"},
	{"etcd: keys of records and hosts", "coord/etcd", "unpad", "FuzzKeys", "a key is that of one worker ID; each host has one of its own"},
	{"etcd: answers to transactions", "coord/etcd", "complete created drawn", "FuzzAnswer", "an answer that lacks what was asked for is an error; no claim counts as earlier that is not"},
	{"etcd: the time that a server tells", "coord/etcd", "parseDate", "FuzzDate", "refused, or the time that a server whose clock shows it tells again"},
	{"ZooKeeper: names of claims", "coord/zk", "parseName parseAny Parse", "FuzzNames", "what is accepted is printed as it was"},
	{"ZooKeeper: chroots, records' names, hosts", "coord/zk", "parseRoot unpad", "FuzzTree", "what is accepted is a path that ZooKeeper takes, and stays the same; each host has a node of its own"},
	{"ZooKeeper: a server's first answer", "coord/zk", "watch", "FuzzWatch", "however it is split into reads, it is judged the same; never a session without a timeout, nor an endless answer"},
	{"the coordinator's URL", "coord/connect", "parse parseServers parseUser parseHost", "FuzzParse FuzzSecret", "what is shown reads back to the same; no error and nothing shown has the password"},
	{"the password's file", "coord/connect", "ReadPassword", "FuzzPassword", "the password is the only line, whole; an error says nothing of it"},
	{"files of authorities, certificate and key", "coord/secure", "Config read", "FuzzFiles", "what is accepted is used; an error names the file, and shows nothing of the key"},
	{"layouts", "generator", "ParseLayout parseLayout parseField parseEpoch", "FuzzParseLayout", "what is accepted prints to what reads back to the same; an error names it in one line"},
	{"IDs", "generator", "Decompose", "FuzzDecompose", "refused, or taken apart and put together again to the same"},
	{"IDs in each form, forms' names", "internal/form", "Parse ParseBare parseDecimal parseHex", "FuzzParse FuzzParseBare FuzzString FuzzBase62 FuzzHex FuzzBignum FuzzUUID FuzzPublic FuzzNamed",
		"refused, or what is written of the ID; each ID is read back; a name in any case and nothing else"},
	{"IDs as UUIDs", "internal/uuid7", "Parse ParseBytes Decode", "FuzzParse FuzzDecode", "refused, or what is written of the ID, byte for byte"},
	{"IDs in base62", "internal/base62", "Parse", "FuzzParse", "refused, or what is written of the ID"},
	{"public IDs, their keys", "internal/publicid", "Parse ParseKeys", "FuzzParse FuzzParseKeys", "refused, or what is written of the ID under that key; an error shows nothing of a key"},
	{"spans of time", "generator", "Bounds", "FuzzBounds", "within the bounds lie the IDs of the ticks that start in the span, and no others"},
	{"the configuration's file", "cli/configfile", "Parse parse", "FuzzParse", "only known names, with a line; written anew it reads as the same"},
	{"the configuration's tenants", "cli", "readTenants", "FuzzTenants", "refused with a line, or each has a rate that reads back to the same"},
	{"settings as flags, in files, as variables", "cli", "fillIn", "FuzzSettings", "a value means the same in all three, or is refused in all three by its name"},
	{"flags' durations, modes and intervals", "cli", "Set", "FuzzValues", "what is accepted prints to what reads back to the same; what is refused changes nothing"},
	{"command lines", "cli", "flagsFirst choices", "FuzzWords", "no word is lost or made up"},
	{"times", "internal/instant", "Parse", "FuzzTime", "what is accepted prints to what reads back to the same"},
	{"words of decode", "cli", "decode decodeAll parse parseLayout", "FuzzDecode", "each is taken apart to what is put together to the same, or is complained of"},
	{"words of explain", "cli", "take", "FuzzExplain", "each gets a line of JSON that names a holder or says why not, or is complained of"},
	{"marks raise --to and --by", "cli", "aim", "FuzzRaise", "raised once, to a tick that the layout has and that is not over, or refused"},
	{"INFO", "internal/info", "Parse", "FuzzParse", "written anew it reads as the same"},
	{"a cluster's layout, texts of others", "cli/cluster", "Of Plain", "FuzzOf FuzzPlain", "what is accepted is written as what reads the same; nothing shown moves the cursor"},
	{"the socket's group", "daemon", "groupID", "FuzzGroup", "a number that the system has, or an error that names the flag"},
	{"drills: the clock's file", "internal/fault/inject", "parseOffset", "FuzzOffset", "within the clock's range, and prints to what reads back to the same"},
	{"drills: the disk", "internal/fault/inject", "parseDisk", "FuzzDisk", "the disk that was asked for, or an error"},
	{"drills: Takes that are held", "internal/fault", "parseHold", "FuzzHold", "what was asked for, or an error"},
	{"ZooKeeper's transaction logs", "audit/history", "parseLog parseTransaction", "FuzzParseLog", "zeros behind change nothing; only what was asked for is kept"},
	{"records as the judge reads them", "audit/history", "version workerOf parseLine Read", "FuzzVersion FuzzRead", "what is accepted is possible, and written anew reads as the same"},
	{"logs of what daemons and clients did", "audit/evidence", "read", "FuzzReadEvents FuzzEvent FuzzReadReplies FuzzReply", "what is read can be written, and reads as the same"},
	{"replies as they are noted down", "e2e/sidecar/ask", "batch inRuns", "FuzzReplies", "the same IDs in the same order, as many as were asked for"},
	{"the sidecar's counts", "e2e/drills", "parseDrops", "FuzzDrops", "what is accepted is what is printed"},
	{"INFO as the drills read it", "e2e/drills", "parseAnswers", "FuzzAnswers", "written anew it reads as the same"},
	{"ZooKeeper's snapshots", "coord/zk/zktest/zkserver", "counterAt setCounter", "FuzzCounter", "the counter is changed and nothing else"},
	{"the simulated coordinator's names", "sim/tree", "Parse", "FuzzParse", "what is accepted is printed as it was"},
	{"reports of go test", "sim/mutants", "failures", "FuzzFailures", "tests that failed have names, each once, or there is an error"},
	{"coverage profiles", "sim/errorpaths", "readProfile", "FuzzReadProfile", "what is accepted and written anew reads as the same"},
}

// notFuzzed are functions that are called as parsers are and read nothing from outside, and why.
var notFuzzed = map[string]string{
	"cli decodeCommand":                          "makes the command; FuzzDecode runs it",
	"daemon/rest Decode":                         "passes on to decode",
	"daemon/rpc Decode":                          "passes on to daemon/rest",
	"api/flakeward/v1/flakewardv1connect Decode": "made by a generator: calls the service",
	"bench/redisbench Parse":                     "output of redis-benchmark, which is trusted",
	"bench parse":                                "flags of a tool, read by package flag",
}

// printTable writes the table in Markdown.
func printTable(w io.Writer) error {
	var b strings.Builder
	b.WriteString("| bytes from outside | read by | fuzzed by | whatever the bytes are |\n|---|---|---|---|\n")
	for _, r := range table {
		list := func(names string) string { return "`" + strings.ReplaceAll(names, " ", "`, `") + "`" }
		fmt.Fprintf(&b, "| %s | `%s`: %s | %s | %s |\n", r.what, r.pkg, list(r.parsers), list(r.targets), r.property)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
