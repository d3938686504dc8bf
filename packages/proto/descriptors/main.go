// Writes every linked protobuf file, and those of the directory named as argument, as
// one FileDescriptorSet to standard output: dependencies first, otherwise in order of path, so that
// equal modules give equal bytes.
package main

import (
	"log"
	"os"
	"sort"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

func main() {
	files, err := compileLocal(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	local := messageNames(files)
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		if !definesAny(file, local) {
			files = append(files, file)
		}
		return true
	})
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(descriptorSet(files))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(bytes); err != nil {
		log.Fatal(err)
	}
}

func messageNames(files []protoreflect.FileDescriptor) map[protoreflect.FullName]bool {
	names := map[protoreflect.FullName]bool{}
	for _, file := range files {
		for i := 0; i < file.Messages().Len(); i++ {
			names[file.Messages().Get(i).FullName()] = true
		}
	}
	return names
}

// Envoy's contrib module carries an older copy of Istio's workload messages; two definitions of one
// name would leave it to chance which of them a type URL means.
func definesAny(file protoreflect.FileDescriptor, names map[protoreflect.FullName]bool) bool {
	for i := 0; i < file.Messages().Len(); i++ {
		if names[file.Messages().Get(i).FullName()] {
			return true
		}
	}
	return false
}

func descriptorSet(files []protoreflect.FileDescriptor) *descriptorpb.FileDescriptorSet {
	sort.Slice(files, func(i, j int) bool { return files[i].Path() < files[j].Path() })
	set := &descriptorpb.FileDescriptorSet{}
	done := map[string]bool{}
	var add func(file protoreflect.FileDescriptor)
	add = func(file protoreflect.FileDescriptor) {
		if done[file.Path()] || file.IsPlaceholder() {
			return
		}
		done[file.Path()] = true
		for i := 0; i < file.Imports().Len(); i++ {
			add(file.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(file))
	}
	for _, file := range files {
		add(file)
	}
	return set
}
