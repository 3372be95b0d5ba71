package flakewardv1_test

import (
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	flakewardv1 "github.com/flakeward/flakeward/api/flakeward/v1"
	"github.com/flakeward/flakeward/internal/must"
)

// TestGeneratedCodeIsOfTheDefinition compares what was compiled into the Go code with the
// definition beside it. `make generate` makes the code anew.
func TestGeneratedCodeIsOfTheDefinition(t *testing.T) {
	const file = "flakeward/v1/flakeward.proto"
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: []string{"../.."}}),
	}
	defined := must.Get(compiler.Compile(t.Context(), file))(t)
	want := protodesc.ToFileDescriptorProto(defined[0])
	got := protodesc.ToFileDescriptorProto(flakewardv1.File_flakeward_v1_flakeward_proto)
	if !proto.Equal(got, want) {
		t.Errorf("the generated code is of another definition than %s: run `make generate`", file)
	}
}
