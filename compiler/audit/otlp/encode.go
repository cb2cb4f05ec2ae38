package otlp

import (
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/log"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message of protocol buffers that is written.
type message []byte

func (m *message) bytes(field protowire.Number, v []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), v)
}

// text writes a text, unless it is empty.
func (m *message) text(field protowire.Number, v string) {
	if v != "" {
		*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), v)
	}
}

func (m *message) varint(field protowire.Number, v uint64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), v)
}

func (m *message) fixed(field protowire.Number, v uint64) {
	*m = protowire.AppendFixed64(protowire.AppendTag(*m, field, protowire.Fixed64Type), v)
}

// The fields are those of ExportLogsServiceRequest in opentelemetry/proto/collector/logs/v1/logs_service.proto, and of
// what it holds. A test reads them with the generated code.

// encode writes records of one resource and one scope.
func encode(records []sdk.Record) []byte {
	var scoped message
	for i := range records {
		if i == 0 {
			var scope message
			of := records[0].InstrumentationScope()
			scope.text(1, of.Name)
			scope.text(2, of.Version)
			scoped.bytes(1, scope)
		}
		scoped.bytes(2, record(&records[i]))
	}
	var all, res, request message
	if len(records) > 0 {
		for _, kv := range records[0].Resource().Attributes() {
			res.bytes(1, keyValue(kv))
		}
	}
	all.bytes(1, res)
	all.bytes(2, scoped)
	request.bytes(1, all)
	return request
}

func record(r *sdk.Record) (m message) {
	m.fixed(1, nanoseconds(r.Timestamp()))
	m.varint(2, uint64(r.Severity()))
	m.text(3, r.SeverityText())
	m.bytes(5, value(r.Body()))
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		m.bytes(6, keyValue(kv))
		return true
	})
	m.fixed(11, nanoseconds(r.ObservedTimestamp()))
	m.text(12, r.EventName())
	return m
}

func nanoseconds(t time.Time) uint64 { return uint64(t.UnixNano()) }

func keyValue(kv attribute.KeyValue) (m message) {
	m.text(1, string(kv.Key))
	m.bytes(2, value(kv.Value))
	return m
}

// value writes a text or a number; anything else as a text.
func value(v attribute.Value) (m message) {
	if v.Type() == attribute.FLOAT64 {
		m.fixed(4, math.Float64bits(v.AsFloat64()))
		return m
	}
	m.bytes(1, []byte(v.String()))
	return m
}

// rejectedOf returns how many records an answer says that the collector rejected (ExportLogsPartialSuccess).
func rejectedOf(answer []byte) int {
	return int(min(number(field(answer, 1), 1), math.MaxInt32))
}

// field returns a message in a message, nil where there is none.
func field(m []byte, of protowire.Number) []byte {
	v, _ := protowire.ConsumeBytes(at(m, of, protowire.BytesType))
	return v
}

// number returns a number in a message, 0 where there is none.
func number(m []byte, of protowire.Number) uint64 {
	v, _ := protowire.ConsumeVarint(at(m, of, protowire.VarintType))
	return v
}

// at returns a message from the value of a field on, nil where it has no such field.
func at(m []byte, of protowire.Number, as protowire.Type) []byte {
	for len(m) > 0 {
		n, typ, size := protowire.ConsumeTag(m)
		if size < 0 {
			return nil
		}
		m = m[size:]
		if n == of && typ == as {
			return m
		}
		if size = protowire.ConsumeFieldValue(n, typ, m); size < 0 {
			return nil
		}
		m = m[size:]
	}
	return nil
}
