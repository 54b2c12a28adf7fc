package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

const bootstrapRuns = 3

// bootstrapSet is one of Lattigo's own sets; `log2Failure` is what its comments state, nil where they state nothing.
type bootstrapSet struct {
	scheme      ckks.ParametersLiteral
	circuit     bootstrapping.ParametersLiteral
	log2Failure any
}

// bootstrapSets has the default set with sparse secrets, the one of degree 2^15 with dense ones and, to try the program,
// the first at degree 2^11, which is not secure.
func bootstrapSets() map[string]bootstrapSet {
	sparse, dense := bootstrapping.N16QP1546H192H32, bootstrapping.N15QP880H16384H32
	small := bootstrapSet{sparse.SchemeParams, sparse.BootstrappingParams, nil}
	small.scheme.LogN = 11
	small.circuit.LogN = &small.scheme.LogN
	return map[string]bootstrapSet{
		"N16QP1546H192H32":  {sparse.SchemeParams, sparse.BootstrappingParams, -138.7},
		"N15QP880H16384H32": {dense.SchemeParams, dense.BootstrappingParams, -139.7},
		"insecure_n11":      small,
	}
}

// uniform returns complex numbers uniform in the unit square [-1, 1) x [-1, 1).
func uniform(count int) []complex128 {
	source := rand.New(rand.NewPCG(40, 41))
	values := make([]complex128, count)
	for i := range values {
		values[i] = complex(2*source.Float64()-1, 2*source.Float64()-1)
	}
	return values
}

// partErrors returns the mean and the largest absolute error of a real or imaginary part.
func partErrors(want, have []complex128) (mean, worst float64) {
	for i := range want {
		for _, part := range []float64{real(want[i] - have[i]), imag(want[i] - have[i])} {
			mean += math.Abs(part)
			worst = math.Max(worst, math.Abs(part))
		}
	}
	return mean / float64(2*len(want)), worst
}

// peakBytes is the most memory that this process has had, nil where the system does not tell.
func peakBytes() any {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil
	}
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return kib * 1024
			}
		}
	}
	return nil
}

// runBootstrap bootstraps a ciphertext without any level left, all slots complex; the result is checked before the timed runs.
func runBootstrap(name string, set bootstrapSet, memoryGiB float64) error {
	const work = "bootstrap"
	params, err := ckks.NewParametersFromLiteral(set.scheme)
	if err != nil {
		return err
	}
	set.circuit.LogP = set.scheme.LogP // as the set's name has it; the library would take more special primes at degree 2^15
	circuit, err := bootstrapping.NewParametersFromLiteral(params, set.circuit)
	if err != nil {
		return err
	}
	whole := circuit.BootstrappingParameters
	b := &bench{params: name, extra: map[string]any{
		"preset": name, "degree": params.N(), "slots": params.MaxSlots(), "log_qp": whole.LogQP(),
		// A bootstrap begins at level 0: all that is above the first prime is the application's.
		"bits_left": params.LogQ() - math.Log2(float64(params.Q()[0])), "levels_left": params.MaxLevel(),
		"log2_failure": set.log2Failure, "version": moduleVersion(),
	}}
	digits := whole.BaseRNSDecompositionVectorSize(whole.MaxLevelQ(), whole.MaxLevelP())
	oneKey := float64(digits*(whole.QCount()+whole.PCount())*2*whole.N()) * 8 / (1 << 30)
	wanted := oneKey * float64(len(circuit.GaloisElements(whole))+3)
	if wanted > memoryGiB {
		b.absent(work, fmt.Sprintf("keys of about %.1f GiB do not fit in %.1f GiB", wanted, memoryGiB))
		return b.failed
	}
	debug.SetGCPercent(20) // the collector would otherwise let the heap double

	secret := rlwe.NewKeyGenerator(params).GenSecretKeyNew()
	start := time.Now()
	keys, _, err := circuit.GenEvaluationKeys(secret)
	if err != nil {
		return err
	}
	b.extra["key_seconds"], b.extra["key_bytes"] = time.Since(start).Seconds(), keys.BinarySize()
	evaluator, err := bootstrapping.NewEvaluator(circuit, keys)
	if err != nil {
		return err
	}
	values, found := uniform(params.MaxSlots()), make([]complex128, params.MaxSlots())
	encoder, plain := ckks.NewEncoder(params), ckks.NewPlaintext(params, 0)
	if err := encoder.Encode(values, plain); err != nil {
		return err
	}
	low, err := rlwe.NewEncryptor(params, secret).EncryptNew(plain)
	if err != nil {
		return err
	}
	runtime.GC()
	samples, mean, worst := []float64{}, 0.0, 0.0
	for round := 0; round <= bootstrapRuns; round++ {
		input := low.CopyNew() // the bootstrap works in place
		start := time.Now()
		fresh, err := evaluator.Bootstrap(input)
		elapsed := time.Since(start)
		if err != nil {
			return err
		}
		if round > 0 {
			samples = append(samples, float64(elapsed.Nanoseconds())/1e6)
			continue
		}
		if err := encoder.Decode(rlwe.NewDecryptor(params, secret).DecryptNew(fresh), found); err != nil {
			return err
		}
		mean, worst = partErrors(values, found)
		if !(worst < maxError) || fresh.Level() != params.MaxLevel() {
			b.absent(work, fmt.Sprintf("wrong result: error %.3g at level %d", worst, fresh.Level()))
			return fmt.Errorf("%s: wrong result", name)
		}
	}
	sort.Float64s(samples)
	b.emit(row{Work: work, MedianMs: &samples[bootstrapRuns/2], MinMs: &samples[0], MaxMs: &samples[bootstrapRuns-1], Runs: bootstrapRuns},
		map[string]any{"mean_bits": -math.Log2(mean), "worst_bits": -math.Log2(worst), "max_error": worst, "peak_bytes": peakBytes()})
	return b.failed
}
