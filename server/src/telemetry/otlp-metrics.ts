/** Our families in OpenTelemetry's words. Loaded only with its SDK (open-telemetry.ts). */
import { type HrTime, ValueType } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AggregationTemporality, DataPointType, type MetricData, type MetricProducer } from '@opentelemetry/sdk-metrics'
import type { Family } from './family.ts'

/** Everything is counted since the process started. */
const startTime: HrTime = timeOf(performance.timeOrigin)

/** The reader asks us as it would ask the SDK's own instruments: so nothing is counted twice, and no poll pays for it. */
export function createMetricProducer(read: () => Promise<readonly Family[]>): MetricProducer {
  return {
    collect: async () => {
      const endTime = timeOf(Date.now())
      const metrics = (await read()).map((family) => metricOf(family, endTime))
      return {
        // The reader puts its own resource in its place.
        resourceMetrics: {
          resource: resourceFromAttributes({}),
          scopeMetrics: [{ scope: { name: 'latchkey' }, metrics }],
        },
        errors: [],
      }
    },
  }
}

function metricOf(family: Family, endTime: HrTime): MetricData {
  const { name, help } = family
  const descriptor = { name, description: help, unit: unitOf(name), valueType: ValueType.DOUBLE }
  const base = { descriptor, aggregationTemporality: AggregationTemporality.CUMULATIVE }
  const at = { startTime, endTime }
  switch (family.type) {
    case 'histogram':
      return {
        ...base,
        dataPointType: DataPointType.HISTOGRAM,
        dataPoints: family.samples.map(({ labels, counts, sum }) => ({
          ...at,
          attributes: labels,
          value: {
            buckets: { boundaries: [...family.bounds], counts: [...counts] },
            sum,
            count: counts.reduce((all, each) => all + each, 0),
          },
        })),
      }
    case 'counter':
      return {
        ...base,
        dataPointType: DataPointType.SUM,
        isMonotonic: true,
        dataPoints: family.samples.map(({ labels, value }) => ({ ...at, attributes: labels, value })),
      }
    case 'gauge':
      return {
        ...base,
        dataPointType: DataPointType.GAUGE,
        dataPoints: family.samples.map(({ labels, value }) => ({ ...at, attributes: labels, value })),
      }
  }
}

/** As UCUM writes it, from the name's end. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's'
  return name.endsWith('_bytes') ? 'By' : '1'
}

function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}
