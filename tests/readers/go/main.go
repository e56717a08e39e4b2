// SPDX-License-Identifier: Apache-2.0

// Readers that others wrote, for the tests of what this project writes, and a writer for what it reads.
//
//	readers pprof FILE     google/pprof: type, unit, total, for each sample type; checked by CheckValid
//	readers flat TYPE FILE google/pprof: value, function of the innermost frame, most first
//	readers otlp FILE      the Collector's pdata: type, unit, total, for each profile
//	readers proto IN OUT   google/pprof, which knows older formats: IN as profile.proto
//	readers write FOLDER   a Go program at work, its runtime's own profiles of it
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	rpprof "runtime/pprof"
	"sort"
	"strings"
	"sync"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "readers:", err)
		os.Exit(1)
	}
}

func read(path string) *profile.Profile {
	f, err := os.Open(path)
	must(err)
	defer f.Close()
	p, err := profile.Parse(f)
	must(err)
	must(p.CheckValid())
	return p
}

func totals(path string) {
	p := read(path)
	for i, t := range p.SampleType {
		var sum int64
		for _, s := range p.Sample {
			sum += s.Value[i]
		}
		fmt.Println(t.Type, t.Unit, sum)
	}
}

func flat(kind, path string) {
	p := read(path)
	at := -1
	for i, t := range p.SampleType {
		if t.Type == kind {
			at = i
		}
	}
	if at < 0 {
		must(fmt.Errorf("no type %s", kind))
	}
	sums := map[string]int64{}
	for _, s := range p.Sample {
		name := "?"
		if len(s.Location) > 0 && len(s.Location[0].Line) > 0 && s.Location[0].Line[0].Function != nil {
			name = s.Location[0].Line[0].Function.Name
		}
		sums[name] += s.Value[at]
	}
	var names []string
	for n := range sums {
		if sums[n] != 0 {
			names = append(names, n)
		}
	}
	sort.Slice(names, func(i, j int) bool {
		if sums[names[i]] != sums[names[j]] {
			return sums[names[i]] > sums[names[j]]
		}
		return names[i] < names[j]
	})
	for _, n := range names {
		fmt.Println(sums[n], n)
	}
}

func otlp(path string) {
	data, err := os.ReadFile(path)
	must(err)
	var p pprofile.Profiles
	if strings.HasSuffix(path, ".jsonl") {
		p, err = (&pprofile.JSONUnmarshaler{}).UnmarshalProfiles(data)
	} else {
		p, err = (&pprofile.ProtoUnmarshaler{}).UnmarshalProfiles(data)
	}
	must(err)
	text := p.Dictionary().StringTable()
	sums := map[string]int64{}
	var order []string
	for _, r := range p.ResourceProfiles().All() {
		for _, s := range r.ScopeProfiles().All() {
			for _, one := range s.Profiles().All() {
				t := one.SampleType()
				key := text.At(int(t.TypeStrindex())) + " " + text.At(int(t.UnitStrindex()))
				if _, ok := sums[key]; !ok {
					order = append(order, key)
				}
				for _, sample := range one.Samples().All() {
					for _, v := range sample.Values().All() {
						sums[key] += v
					}
					if sample.Values().Len() == 0 {
						sums[key] += int64(sample.TimestampsUnixNano().Len())
					}
				}
			}
		}
	}
	for _, key := range order {
		fmt.Println(key, sums[key])
	}
}

var keep [][]byte

//go:noinline
func work(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i * i % 7
	}
	return sum
}

//go:noinline
func allocate(n int) {
	for i := 0; i < n; i++ {
		keep = append(keep, make([]byte, 4096+i%1000))
	}
}

func write(folder string) {
	runtime.MemProfileRate = 4096
	runtime.SetBlockProfileRate(1)
	runtime.SetMutexProfileFraction(1)
	cpu, err := os.Create(filepath.Join(folder, "go-cpu.pb.gz"))
	must(err)
	must(rpprof.StartCPUProfile(cpu))
	var wait sync.WaitGroup
	var lock sync.Mutex
	for i := 0; i < 4; i++ {
		wait.Add(1)
		go rpprof.Do(context.Background(), rpprof.Labels("worker", fmt.Sprint(i)), func(context.Context) {
			defer wait.Done()
			for n := 0; n < 300; n++ {
				lock.Lock()
				work(100000)
				lock.Unlock()
			}
			allocateLocked(&lock)
		})
	}
	wait.Wait()
	rpprof.StopCPUProfile()
	must(cpu.Close())
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "goroutine", "block", "mutex"} {
		f, err := os.Create(filepath.Join(folder, "go-"+name+".pb.gz"))
		must(err)
		must(rpprof.Lookup(name).WriteTo(f, 0))
		must(f.Close())
	}
	runtime.KeepAlive(keep)
}

func allocateLocked(lock *sync.Mutex) {
	lock.Lock()
	defer lock.Unlock()
	allocate(500)
}

func convert(in, out string) {
	f, err := os.Create(out)
	must(err)
	must(read(in).Write(f))
	must(f.Close())
}

func main() {
	switch a := os.Args[1:]; {
	case len(a) == 2 && a[0] == "pprof":
		totals(a[1])
	case len(a) == 3 && a[0] == "flat":
		flat(a[1], a[2])
	case len(a) == 2 && a[0] == "otlp":
		otlp(a[1])
	case len(a) == 3 && a[0] == "proto":
		convert(a[1], a[2])
	case len(a) == 2 && a[0] == "write":
		write(a[1])
	default:
		fmt.Fprintln(os.Stderr, "usage: readers pprof|flat|otlp|proto|write ...")
		os.Exit(2)
	}
}
