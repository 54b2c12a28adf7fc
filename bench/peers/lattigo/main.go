// Benchmarks of Lattigo v6: one parameter set per run, one thread, one JSON row per line on standard output.
// Sits in bench/peers/lattigo; knows only Lattigo. Rows follow bench/README.md.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/cmplx"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"time"

	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

const (
	who         = "lattigo"
	module      = "github.com/tuneinsight/lattigo/v6"
	hoistedRuns = 8
	maxError    = 1e-3 // a 40-bit scale leaves at least 20 bits; anything above this is a wrong result
)

// paramSet is a chain of one 60-bit prime and `middle` 40-bit primes, with special primes of the given sizes.
type paramSet struct {
	logN    int
	middle  int
	special []int
}

// The special primes of the `mid` and `low` sets are Lattigo's fastest choice at that modulus: a digit holds as many
// primes as there are special ones, and the special modulus covers the largest digit (60 + 40 + 40 + ...).
var paramSets = map[string]paramSet{
	"n14":     {14, 7, repeat(60, 1)},
	"n15-one": {15, 19, repeat(60, 1)},
	"n15-mid": {15, 15, repeat(55, 4)},
	"n15-low": {15, 10, repeat(58, 6)},
	"n16-one": {16, 41, repeat(60, 1)},
	"n16-mid": {16, 32, repeat(46, 9)},
	"n16-low": {16, 26, repeat(45, 14)},
}

func repeat(bits, count int) []int {
	sizes := make([]int, count)
	for i := range sizes {
		sizes[i] = bits
	}
	return sizes
}

type row struct {
	Work     string         `json:"work"`
	Params   string         `json:"params"`
	Who      string         `json:"who"`
	MedianMs *float64       `json:"median_ms,omitempty"`
	MinMs    *float64       `json:"min_ms,omitempty"`
	MaxMs    *float64       `json:"max_ms,omitempty"`
	Runs     int            `json:"runs,omitempty"`
	Absent   string         `json:"absent,omitempty"`
	Extra    map[string]any `json:"extra"`
}

type bench struct {
	params string
	budget time.Duration
	most   int
	extra  map[string]any
	failed error
}

func (b *bench) emit(r row, more map[string]any) {
	r.Params, r.Who, r.Extra = b.params, who, map[string]any{}
	for _, part := range []map[string]any{b.extra, more} {
		for name, value := range part {
			r.Extra[name] = value
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		b.failed = errors.Join(b.failed, err)
	}
}

func (b *bench) absent(work, reason string) { b.emit(row{Work: work, Absent: reason}, nil) }

func (b *bench) time(work string, operation func() error, check func() (float64, error)) {
	b.timeParts(work, 1, operation, check)
}

// timeParts runs `operation` once unmeasured, checks its result by `check`, then measures it until the budget is spent;
// times are those of one of its `parts` equal parts.
func (b *bench) timeParts(work string, parts int, operation func() error, check func() (float64, error)) {
	if err := operation(); err != nil {
		b.absent(work, err.Error())
		b.failed = errors.Join(b.failed, fmt.Errorf("%s: %w", work, err))
		return
	}
	worst, err := check()
	if err == nil && !(worst < maxError) {
		err = fmt.Errorf("wrong result: error %.3g", worst)
	}
	if err != nil {
		b.absent(work, err.Error())
		b.failed = errors.Join(b.failed, fmt.Errorf("%s: %w", work, err))
		return
	}
	samples, spent := []float64{}, time.Duration(0)
	for len(samples) == 0 || (len(samples) < 3 && spent < 8*b.budget) || (len(samples) < b.most && spent < b.budget) {
		start := time.Now()
		err := operation()
		elapsed := time.Since(start)
		if err != nil {
			b.absent(work, err.Error())
			return
		}
		spent += elapsed
		samples = append(samples, float64(elapsed.Nanoseconds())/1e6/float64(parts))
	}
	sort.Float64s(samples)
	count := len(samples)
	median := (samples[(count-1)/2] + samples[count/2]) / 2
	b.emit(row{Work: work, MedianMs: &median, MinMs: &samples[0], MaxMs: &samples[count-1], Runs: count},
		map[string]any{"max_error": worst})
}

func moduleVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == module {
				return dependency.Version
			}
		}
	}
	return "unknown"
}

func sample(count int, shift float64) []complex128 {
	values := make([]complex128, count)
	for i := range values {
		angle := float64(i)*0.7 + shift
		values[i] = cmplx.Rect(0.5+0.5*math.Cos(float64(i)*0.013), angle)
	}
	return values
}

func worstError(want, have []complex128) float64 {
	worst := 0.0
	for i := range want {
		worst = math.Max(worst, cmplx.Abs(want[i]-have[i]))
	}
	return worst
}

func run(name string, quick bool, memoryGiB float64) error {
	set, known := paramSets[name]
	if !known {
		return fmt.Errorf("unknown parameter set %q", name)
	}
	sizes := append([]int{60}, repeat(40, set.middle)...)
	params, err := ckks.NewParametersFromLiteral(ckks.ParametersLiteral{
		LogN: set.logN, LogQ: sizes, LogP: set.special, LogDefaultScale: 40,
	})
	if err != nil {
		return err
	}
	digits := (len(sizes) + len(set.special) - 1) / len(set.special)
	b := &bench{params: name, budget: 800 * time.Millisecond, most: 50, extra: map[string]any{
		"log_qp": math.Round(params.LogQP()*10) / 10, "log_q": math.Round(params.LogQ()*10) / 10,
		"special_primes": len(set.special), "digits": digits, "version": moduleVersion(),
	}}
	if quick {
		b.budget, b.most = 100*time.Millisecond, 5
	}

	slots := params.MaxSlots()
	left, right := sample(slots, 0.1), sample(slots, 0.9)
	encoder := ckks.NewEncoder(params)
	keys := rlwe.NewKeyGenerator(params)
	secret := keys.GenSecretKeyNew()
	encryptor, decryptor := rlwe.NewEncryptor(params, secret), rlwe.NewDecryptor(params, secret)
	level := params.MaxLevel()
	plainLeft, plainRight := ckks.NewPlaintext(params, level), ckks.NewPlaintext(params, level)
	opened := ckks.NewPlaintext(params, level)
	have := make([]complex128, slots)
	decode := func(want []complex128, plain *rlwe.Plaintext) (float64, error) {
		err := encoder.Decode(plain, have)
		return worstError(want, have), err
	}
	open := func(want []complex128, ct *rlwe.Ciphertext) (float64, error) {
		return decode(want, decryptor.DecryptNew(ct))
	}

	b.time("encode", func() error { return encoder.Encode(left, plainLeft) },
		func() (float64, error) { return decode(left, plainLeft) })
	if err := encoder.Encode(right, plainRight); err != nil {
		return err
	}
	ctLeft, ctRight := ckks.NewCiphertext(params, 1, level), ckks.NewCiphertext(params, 1, level)
	b.time("encrypt", func() error { return encryptor.Encrypt(plainLeft, ctLeft) },
		func() (float64, error) { return open(left, ctLeft) })
	if err := encryptor.Encrypt(plainRight, ctRight); err != nil {
		return err
	}
	b.time("decrypt", func() error { decryptor.Decrypt(ctLeft, opened); return nil },
		func() (float64, error) { return decode(left, opened) })
	b.time("decrypt_decode", func() error { decryptor.Decrypt(ctLeft, opened); return encoder.Decode(opened, have) },
		func() (float64, error) { return worstError(left, have), nil })

	sum, product, rotated := make([]complex128, slots), make([]complex128, slots), make([]complex128, slots)
	for i := range left {
		sum[i], product[i], rotated[i] = left[i]+right[i], left[i]*right[i], left[(i+1)%slots]
	}
	plainEvaluator := ckks.NewEvaluator(params, nil)
	out := ckks.NewCiphertext(params, 1, level)
	b.time("add", func() error { return plainEvaluator.Add(ctLeft, ctRight, out) },
		func() (float64, error) { return open(sum, out) })
	b.time("multiply_plain", func() error { return plainEvaluator.Mul(ctLeft, plainRight, out) },
		func() (float64, error) { return open(product, out) })

	ringQ := params.RingQ()
	coefficients, values, back := ringQ.NewPoly(), ringQ.NewPoly(), ringQ.NewPoly()
	for limb, prime := range params.Q() {
		for i := range coefficients.Coeffs[limb] {
			coefficients.Coeffs[limb][i] = (uint64(i)*0x9E3779B97F4A7C15 + uint64(limb)) % prime
		}
	}
	roundTrip := func() (float64, error) {
		ringQ.INTT(values, back)
		if !ringQ.Equal(coefficients, back) || ringQ.Equal(coefficients, values) {
			return 1, nil
		}
		return 0, nil
	}
	b.timeParts("ntt_forward", len(sizes), func() error { ringQ.NTT(coefficients, values); return nil }, roundTrip)
	b.timeParts("ntt_inverse", len(sizes), func() error { ringQ.INTT(values, back); return nil }, roundTrip)

	keyGiB := float64(digits) * float64(len(sizes)+len(set.special)) * 2 * float64(params.N()) * 8 / (1 << 30)
	b.extra["key_gib"] = math.Round(keyGiB*1000) / 1000
	reason := func(count int) string {
		return fmt.Sprintf("%d switching keys of %.2f GiB do not fit in %.1f GiB", count, keyGiB, memoryGiB)
	}
	if keyGiB*1.2 > memoryGiB {
		for _, work := range []string{"multiply_relinearise_rescale", "rotate", "hoisted_rotations_8"} {
			b.absent(work, reason(1))
		}
		return b.failed
	}
	// One kind of key at a time: the largest sets need gigabytes for each.
	func() {
		evaluator := ckks.NewEvaluator(params, rlwe.NewMemEvaluationKeySet(keys.GenRelinearizationKeyNew(secret)))
		long, short := ckks.NewCiphertext(params, 1, level), ckks.NewCiphertext(params, 1, level-1)
		b.time("multiply_relinearise_rescale", func() error {
			if err := evaluator.MulRelin(ctLeft, ctRight, long); err != nil {
				return err
			}
			return evaluator.Rescale(long, short)
		}, func() (float64, error) { return open(product, short) })
	}()
	runtime.GC()
	debug.FreeOSMemory()
	rotations := []int{1}
	hoists := keyGiB*(hoistedRuns+0.7) < memoryGiB
	if hoists {
		rotations = make([]int, hoistedRuns)
		for i := range rotations {
			rotations[i] = i + 1
		}
	}
	galois := make([]*rlwe.GaloisKey, len(rotations))
	for i, steps := range rotations {
		galois[i] = keys.GenGaloisKeyNew(params.GaloisElement(steps), secret)
	}
	evaluator := ckks.NewEvaluator(params, rlwe.NewMemEvaluationKeySet(nil, galois...))
	b.time("rotate", func() error { return evaluator.Rotate(ctLeft, 1, out) },
		func() (float64, error) { return open(rotated, out) })
	if !hoists {
		b.absent("hoisted_rotations_8", reason(hoistedRuns))
		return b.failed
	}
	outs := make(map[int]*rlwe.Ciphertext, len(rotations))
	for _, steps := range rotations {
		outs[steps] = ckks.NewCiphertext(params, 1, level)
	}
	b.time("hoisted_rotations_8", func() error { return evaluator.RotateHoisted(ctLeft, rotations, outs) },
		func() (float64, error) {
			worst := 0.0
			for _, steps := range rotations {
				for i := range left {
					rotated[i] = left[(i+steps)%slots]
				}
				one, err := open(rotated, outs[steps])
				if err != nil {
					return 0, err
				}
				worst = math.Max(worst, one)
			}
			return worst, nil
		})
	return b.failed
}

func main() {
	name := flag.String("params", "n14", "parameter set")
	quick := flag.Bool("quick", false, "few runs")
	memory := flag.Float64("memory-gib", 8, "memory that keys may take")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	err := error(nil)
	if set, bootstraps := bootstrapSets()[*name]; bootstraps {
		err = runBootstrap(*name, set, *memory)
	} else {
		err = run(*name, *quick, *memory)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
