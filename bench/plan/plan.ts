/**
 * Prints what an installation needs for a number of waiting devices, from the figures of figures.json.
 *
 *   npm run bench -- plan                                        100,000, 1 and 4 million
 *   npm run bench -- plan --devices 500000                    with and without held polls
 *   npm run bench -- plan --devices 500000 --interval 10 --lifetime 900
 */
import { parseArgs } from 'node:util'
import { readFigures } from './figures.ts'
import { assumptionsOf, type Demand, devicesOfOneRedis, planFor } from './model.ts'
import { renderPlans } from './table.ts'

const { values } = parseArgs({
  options: {
    devices: { type: 'string' },
    interval: { type: 'string', default: '5' },
    lifetime: { type: 'string', default: '600' },
  },
})

const number = (name: keyof typeof values, text: string | undefined): number => {
  const value = Number(text)
  if (!(Number.isInteger(value) && value > 0)) throw new Error(`--${name} takes a whole number above 0`)
  return value
}

const sizes = values.devices === undefined ? [100_000, 1_000_000, 4_000_000] : [number('devices', values.devices)]
const figures = readFigures()
const demands = sizes.flatMap((devices) =>
  [false, true].map(
    (held): Demand => ({
      devices,
      held,
      intervalSeconds: number('interval', values.interval),
      lifetimeSeconds: number('lifetime', values.lifetime),
    }),
  ),
)

console.log(renderPlans(demands.map((demand) => ({ demand, ...planFor(figures, demand) }))))
for (const held of [false, true]) {
  const demand = demands.find((each) => each.held === held)
  if (!demand) continue
  const [first] = assumptionsOf(figures, demand)
  const percent = Math.round((1 - (first?.coresIfDoubled ?? 1)) * 100)
  console.log(
    `\n${held ? 'With' : 'Without'} held polls, most depends on this: ${first?.text}. Twice as long, and ${percent} % of the processors are not needed.`,
  )
  console.log(
    `One Redis, which has one thread, paces at most ${devicesOfOneRedis(figures, demand).toLocaleString('en')} devices: more need a Redis cluster.`,
  )
}
