/** Prometheus' text format 0.0.4, as documented. */
import { describe, expect, test } from 'vitest'
import { createCounts } from '../../src/telemetry/counts.ts'
import { writeExposition } from '../../src/telemetry/exposition.ts'
import { createCounter, gauge } from '../../src/telemetry/family.ts'

describe('the text', () => {
  test('has help, type and samples of each family, and ends with a line feed', () => {
    const counter = createCounter<'yes' | 'no'>({ name: 'a_total', help: 'How many.' }, ['what'], [['yes'], ['no']])
    counter.add('no')
    counter.add('no')
    expect(writeExposition([counter.family(), gauge('b', 'How much.', 0.25)])).toBe(
      '# HELP a_total How many.\n# TYPE a_total counter\na_total{what="yes"} 0\na_total{what="no"} 2\n' +
        '# HELP b How much.\n# TYPE b gauge\nb 0.25\n',
    )
  })

  test('escapes what would end a label or a line', () => {
    const samples = [{ labels: { text: 'a"b\\c\nd' }, value: Number.POSITIVE_INFINITY }]
    expect(writeExposition([gauge('a', 'One\\two\nthree', samples)])).toBe(
      '# HELP a One\\\\two\\nthree\n# TYPE a gauge\na{text="a\\"b\\\\c\\nd"} +Inf\n',
    )
  })

  test('writes NaN and infinities as Go parses them', () => {
    const samples = [Number.NaN, Number.NEGATIVE_INFINITY].map((value) => ({ labels: {}, value }))
    expect(writeExposition([gauge('a', 'x', samples)])).toContain('\na NaN\na -Inf\n')
  })
})

describe('a histogram', () => {
  const linesOf = (durations: readonly number[]) => {
    const { requests, families } = createCounts(['/a', '/b'])
    for (const seconds of durations) {
      requests.began()
      requests.ended('/a', 200, seconds)
    }
    return writeExposition(families())
      .split('\n')
      .filter((line) => line.startsWith('latchkey_http_request_duration_seconds_'))
  }

  test('has cumulative buckets with inclusive bounds, and everything in the last', () => {
    const lines = linesOf([0.0001, 0.001, 0.0011, 2.5, 2.6, 60])
    const bucket = (le: string) => lines.find((line) => line.includes(`{route="/a",le="${le}"}`))?.split(' ')[1]
    expect(['0.001', '0.0025', '1', '2.5', '+Inf'].map(bucket)).toEqual(['2', '3', '3', '4', '6'])
    expect(lines).toContain('latchkey_http_request_duration_seconds_count{route="/a"} 6')
    expect(lines.find((line) => line.includes('_sum{'))).toMatch(/ 65\.102/)
  })

  test('is absent for a route without requests', () => {
    expect(linesOf([])).toEqual([])
    expect(linesOf([1]).filter((line) => line.includes('/b'))).toEqual([])
  })
})

test('a route is present before its first request, with the status classes that alerts use', () => {
  const { requests, families } = createCounts(['/a'])
  requests.began()
  requests.ended('/a', 303, 0.1)
  requests.broken(400)
  const lines = writeExposition(families()).split('\n')
  expect(lines.filter((line) => line.startsWith('latchkey_http_requests_total'))).toEqual([
    'latchkey_http_requests_total{route="/a",status="2xx"} 0',
    'latchkey_http_requests_total{route="/a",status="3xx"} 1',
    'latchkey_http_requests_total{route="/a",status="4xx"} 0',
    'latchkey_http_requests_total{route="/a",status="5xx"} 0',
    'latchkey_http_requests_total{route="broken",status="2xx"} 0',
    'latchkey_http_requests_total{route="broken",status="4xx"} 1',
    'latchkey_http_requests_total{route="broken",status="5xx"} 0',
  ])
})
