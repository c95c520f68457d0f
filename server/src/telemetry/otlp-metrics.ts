/** Conversion of metric families to OpenTelemetry's data model. Loaded only with its SDK (open-telemetry.ts). */
import { type HrTime, ValueType } from '@opentelemetry/api'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { AggregationTemporality, DataPointType, type MetricData, type MetricProducer } from '@opentelemetry/sdk-metrics'
import type { Family } from './family.ts'

/** All counters start at zero when the process starts. */
const startTime: HrTime = timeOf(performance.timeOrigin)

/**
 * The SDK's metric reader collects from this producer as from the SDK's own instruments. So nothing is counted twice,
 * and polls do not pay for SDK instruments.
 */
export function createMetricProducer(read: () => Promise<readonly Family[]>): MetricProducer {
  return {
    collect: async () => {
      const endTime = timeOf(Date.now())
      const metrics = (await read()).map((family) => metricOf(family, endTime))
      return {
        // The reader replaces this by its own resource.
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

/** UCUM unit, derived from the suffix of the name. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return 's'
  return name.endsWith('_bytes') ? 'By' : '1'
}

function timeOf(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}
