/**
 * Request metrics by route: number, status class and duration. Every poll passes through here, so counting is a single
 * look-up.
 */
import { type Distribution, type Family, gauge, type Sample } from './family.ts'

export type RequestCounts = {
  began(): void
  /** `seconds`: until the response was written, without the time that a slow client takes to receive it. */
  ended(route: string, status: number, seconds: number): void
  /** A request that could not be parsed as HTTP. */
  broken(status: number): void
  /** +1: delivery of a final outcome began. -1: the result of the delivery was recorded. */
  leased(by: 1 | -1): void
  families(): readonly Family[]
}

/**
 * Bucket bounds in seconds. A pending poll takes a millisecond, a decision ten, a password check a few hundred;
 * PostgreSQL statements time out after two seconds.
 */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx']

/** Status classes that have a zero sample from the start: Prometheus rates need a zero to start from. */
const ALWAYS: readonly (string | undefined)[] = ['2xx', '4xx', '5xx']

const BROKEN = 'broken'

type Route = { readonly answered: number[]; readonly took: number[]; sum: number }

const newRoute = (): Route => ({ answered: CLASSES.map(() => 0), took: [...BOUNDS, 0].map(() => 0), sum: 0 })

export function createRequestCounts(known: readonly string[]): RequestCounts {
  const routes = new Map([...known, BROKEN].map((route) => [route, newRoute()]))
  let underWay = 0
  let leases = 0

  const answered = (name: string, status: number): Route => {
    const route = routes.get(name) ?? newRoute()
    routes.set(name, route)
    const kind = Math.floor(status / 100) - 1
    route.answered[kind] = (route.answered[kind] ?? 0) + 1
    return route
  }

  return {
    began: () => {
      underWay += 1
    },
    ended: (name, status, seconds) => {
      underWay -= 1
      const route = answered(name, status)
      let bucket = 0
      while (bucket < BOUNDS.length && seconds > (BOUNDS[bucket] as number)) bucket += 1
      route.took[bucket] = (route.took[bucket] ?? 0) + 1
      route.sum += seconds
    },
    broken: (status) => {
      answered(BROKEN, status)
    },
    leased: (by) => {
      leases += by
    },
    families: () => [
      {
        name: 'latchkey_http_requests_total',
        help: 'Number of HTTP requests answered, by route and status class. Route none: no route matched; broken: malformed HTTP.',
        type: 'counter',
        samples: [...routes].flatMap(([route, { answered }]) => samplesOf(route, answered)),
      },
      {
        name: 'latchkey_http_request_duration_seconds',
        help: 'Time from receiving the request headers to sending the response in seconds, by route. Only routes with requests.',
        type: 'histogram',
        bounds: BOUNDS,
        samples: [...routes].flatMap(([route, { took, sum }]): Distribution[] =>
          took.some((count) => count > 0) ? [{ labels: { route }, counts: took, sum }] : [],
        ),
      },
      gauge('latchkey_http_requests_in_flight', 'Number of HTTP requests in progress.', underWay),
      gauge(
        'latchkey_leases_open',
        'Number of final poll outcomes being sent whose delivery is not recorded yet.',
        leases,
      ),
    ],
  }
}

function samplesOf(route: string, answered: readonly number[]): Sample[] {
  return answered.flatMap((value, kind) => {
    const status = CLASSES[kind]
    return status !== undefined && (value > 0 || ALWAYS.includes(status)) ? [{ labels: { route, status }, value }] : []
  })
}
