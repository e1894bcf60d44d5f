// Command quantity answers what Kubernetes' own resource.Quantity makes of a string.
//
// It reads one JSON value per line and prints one JSON object per line, in the same order:
//
//	"1.5Gi"          what the string is: its exact decimal value, and that value rounded
//	["1Gi", "1G"]    how the first compares with the second: -1, 0 or 1
//
// AsDec changes the representation of a quantity, so it is asked last. The work of Kubernetes' parser
// grows with the exponent: the caller keeps exponents within a few hundred.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/api/resource"
)

const lineBytesMax = 1 << 24

// reading is what one string is. value and milli are rounded up, away from zero, and meaningful only
// where the exact value fits 64 bits: Kubernetes caps or wraps the rest. The exact value is
// unscaled * 10^-scale.
type reading struct {
	Ok        bool   `json:"ok"`
	Error     string `json:"error,omitempty"`
	Value     int64  `json:"value"`
	Milli     int64  `json:"milli"`
	Canonical string `json:"canonical,omitempty"`
	Unscaled  string `json:"unscaled,omitempty"`
	Scale     string `json:"scale,omitempty"`
}

// comparison is how one string compares with another.
type comparison struct {
	Ok       bool   `json:"ok"`
	Error    string `json:"error,omitempty"`
	Compared int    `json:"compared"`
}

func read(text string) reading {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return reading{Error: err.Error()}
	}
	result := reading{
		Ok:        true,
		Value:     quantity.Value(),
		Milli:     quantity.MilliValue(),
		Canonical: quantity.String(),
	}
	exact := quantity.AsDec()
	result.Unscaled = exact.UnscaledBig().String()
	result.Scale = fmt.Sprint(int32(exact.Scale()))
	return result
}

func compare(pair []string) comparison {
	if len(pair) != 2 {
		return comparison{Error: "a comparison takes two strings"}
	}
	left, err := resource.ParseQuantity(pair[0])
	if err != nil {
		return comparison{Error: err.Error()}
	}
	right, err := resource.ParseQuantity(pair[1])
	if err != nil {
		return comparison{Error: err.Error()}
	}
	return comparison{Ok: true, Compared: left.Cmp(right)}
}

func reply(line []byte) (any, error) {
	var text string
	if err := json.Unmarshal(line, &text); err == nil {
		return read(text), nil
	}
	var pair []string
	if err := json.Unmarshal(line, &pair); err != nil {
		return nil, fmt.Errorf("a line must be a JSON string or a list of two: %w", err)
	}
	return compare(pair), nil
}

func run(input io.Reader, output io.Writer) error {
	lines := bufio.NewScanner(input)
	lines.Buffer(make([]byte, 0, 1<<16), lineBytesMax)
	writer := bufio.NewWriter(output)
	encoder := json.NewEncoder(writer)
	for lines.Scan() {
		answer, err := reply(lines.Bytes())
		if err != nil {
			return err
		}
		if err := encoder.Encode(answer); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return writer.Flush()
}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quantity:", err)
		os.Exit(1)
	}
}
