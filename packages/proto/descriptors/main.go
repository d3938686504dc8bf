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
	var files []protoreflect.FileDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		files = append(files, file)
		return true
	})
	local, err := compileLocal(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	files = append(files, local...)
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

	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(bytes); err != nil {
		log.Fatal(err)
	}
}
