/**
 * Charts as SVG, rendered on the server. Shapes stretch to the available width; text does not, so that it stays
 * readable on a phone. Time runs from left to right in every language. Every chart has a table of its figures below it,
 * for screen readers and for exact values.
 */
import { scaleLinear, scaleUtc } from 'd3-scale'
import { area, line } from 'd3-shape'
import type { ComponentChildren } from 'preact'
import { Scrolled } from './scrolled.tsx'
import type { Words } from './words.ts'

/** Side of the coordinate system for shapes; it is stretched to the available space. */
const SIDE = 1000

/** Margins in percent of the picture: above for the label of the highest line, below for the time labels. */
const ABOVE = 9
const BELOW = 15
const HEIGHT = 100 - ABOVE - BELOW

const TICKS = 3

export type Tone = 'first' | 'second' | 'limit'

export type Key = { readonly tone: Tone; readonly text: string }

type FigureProps = {
  readonly words: Words
  /** Prefix of all ids in the figure. */
  readonly id: string
  readonly title: string
  /** Text alternative: one sentence about what the chart shows. */
  readonly about: string
  /** Legend; absent for a single series, which the title names. */
  readonly keys?: readonly Key[]
  /** Null: no data, `nothing` is shown. */
  readonly picture: ComponentChildren
  readonly nothing: string
  readonly tall?: boolean
  /** Spans the whole column. */
  readonly wide?: boolean
  readonly table: Table
}

export type Table = {
  readonly head: readonly string[]
  /** The first cell of each row is its header. */
  readonly rows: readonly (readonly string[])[]
}

export function ChartFigure(props: FigureProps) {
  const { words, id, title, about, keys = [], picture, nothing, table } = props
  return (
    <figure class={props.wide ? 'chart wide' : 'chart'} dir="ltr" id={id}>
      <figcaption dir={words.direction}>
        <h3>{title}</h3>
        {keys.length > 0 && picture !== null && (
          <ul class="keys">
            {keys.map(({ tone, text }) => (
              <li class={tone} key={tone}>
                {text}
              </li>
            ))}
          </ul>
        )}
      </figcaption>
      {picture === null ? (
        <p dir={words.direction} class="soft">
          {nothing}
        </p>
      ) : (
        <>
          <svg class={props.tall ? 'picture tall' : 'picture'} role="img" aria-labelledby={`${id}-title ${id}-about`}>
            <title id={`${id}-title`}>{title}</title>
            <desc id={`${id}-about`}>{about}</desc>
            {picture}
          </svg>
          <details dir={words.direction}>
            <summary>{words.t('operator.chart_table')}</summary>
            <TableBelow title={title} table={table} />
          </details>
        </>
      )}
    </figure>
  )
}

function TableBelow({ title, table }: { readonly title: string; readonly table: Table }) {
  return (
    <Scrolled label={title}>
      <table>
        <thead>
          <tr>
            {table.head.map((text) => (
              <th scope="col" key={text}>
                {text}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map(([name, ...figures]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {figures.map((figure, index) => (
                <td class="figures" key={index}>
                  {figure}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}

export type Bucket = { readonly at: number; readonly values: readonly number[] }

type BucketsProps = {
  readonly words: Words
  /** In order, each of length `step`; a missing bucket means zero. */
  readonly buckets: readonly Bucket[]
  readonly step: number
  /** Tone of each value of a bucket, by index. */
  readonly tones: readonly Tone[]
  /** Values are shares from 0 to 1; otherwise counts. */
  readonly share?: boolean
}

/** Values over time: overlapping areas from the base line; the tone `limit` is a dashed line. */
export function Buckets({ words, buckets, step, tones, share = false }: BucketsProps) {
  const [first, last] = [buckets.at(0), buckets.at(-1)]
  if (!first || !last) return null
  const end = last.at + step
  const x = scaleUtc([first.at, end], [0, SIDE])
  const y = heights(buckets, share)
  const spans = end - first.at > 2 * DAY_MS ? words.shortDate : words.time
  return (
    <>
      <Levels words={words} scale={y} share={share} />
      <Plane>
        {tones.map((tone, index) => (
          <path
            class={tone}
            key={tone}
            d={outline(tone, edgesOf(buckets, step, index), x, (value) => y(value)) ?? undefined}
          />
        ))}
      </Plane>
      <Marks marks={x.ticks(TICKS).map((at) => ({ at: x(at) / SIDE, text: spans(at.getTime()) }))} />
    </>
  )
}

type Heights = ReturnType<typeof scaleLinear<number, number>>

/** Scale from zero to a round number above all values. */
function heights(buckets: readonly Bucket[], share = false): Heights {
  const max = share ? 1 : Math.max(1, ...buckets.flatMap(({ values }) => values))
  return scaleLinear([0, max], [SIDE, 0]).nice(TICKS)
}

const DAY_MS = 24 * 60 * 60 * 1000

type Edge = { readonly at: number; readonly value: number }

/** Both edges of every bucket, so that a single one has a width; zero where buckets are missing. */
function edgesOf(buckets: readonly Bucket[], step: number, index: number): readonly Edge[] {
  return buckets.flatMap(({ at, values }, place) => {
    const value = values[index] ?? 0
    const before = buckets[place - 1]
    const apart = before !== undefined && at > before.at + step
    const ground = apart ? [before.at + step, at].map((edge) => ({ at: edge, value: 0 })) : []
    return [...ground, { at, value }, { at: at + step, value }]
  })
}

function outline(tone: Tone, edges: readonly Edge[], x: (at: number) => number, y: (value: number) => number) {
  const place = ({ at }: Edge) => x(at)
  const height = ({ value }: Edge) => y(value)
  return tone === 'limit' ? line(place, height)(edges) : area(place, y(0), height)(edges)
}

type DaysProps = {
  readonly words: Words
  /** Consecutive, each at the start of a day. */
  readonly days: readonly Bucket[]
  readonly tones: readonly Tone[]
}

/** Values per day: grouped bars. */
export function Days({ words, days, tones }: DaysProps) {
  if (days.length === 0) return null
  const y = heights(days)
  const room = SIDE / days.length
  const width = (room * 0.8) / tones.length
  const every = Math.ceil(days.length / (TICKS + 1))
  return (
    <>
      <Levels words={words} scale={y} />
      <Plane>
        {days.flatMap(({ at, values }, place) =>
          tones.map((tone, index) => {
            const top = y(values[index] ?? 0)
            const start = place * room + room * 0.1 + index * width
            return <rect class={tone} key={`${at} ${tone}`} x={start} y={top} width={width} height={SIDE - top} />
          }),
        )}
      </Plane>
      <Marks
        marks={days
          .map(({ at }, place) => ({ at: (place + 0.5) / days.length, text: words.shortDate(at), place }))
          .filter(({ place }) => place % every === 0)}
      />
    </>
  )
}

type StepsProps = {
  readonly words: Words
  readonly steps: readonly { readonly text: string; readonly value: number }[]
}

/** Funnel: horizontal bars one below the other, each with its label and number above it. */
export function Steps({ words, steps }: StepsProps) {
  const max = Math.max(...steps.map(({ value }) => value))
  if (!(max > 0)) return null
  const width = scaleLinear([0, max], [0, 100])
  const room = 100 / steps.length
  return (
    <>
      {steps.map(({ text, value }, place) => (
        <g key={text}>
          <text x="0" y={`${place * room + room * 0.42}%`}>
            {text}
          </text>
          <text x="100%" y={`${place * room + room * 0.42}%`} text-anchor="end" class="figures">
            {words.number(value)}
          </text>
          <rect class="ground" x="0" y={`${place * room + room * 0.55}%`} width="100%" height={`${room * 0.3}%`} />
          <rect
            class="first"
            x="0"
            y={`${place * room + room * 0.55}%`}
            width={`${round(width(value))}%`}
            height={`${room * 0.3}%`}
          />
        </g>
      ))}
    </>
  )
}

/** Area for shapes: stretched, but with constant stroke width (`vector-effect` in the stylesheet). */
function Plane({ children }: { readonly children: ComponentChildren }) {
  return (
    <svg
      x="0"
      y={`${ABOVE}%`}
      width="100%"
      height={`${HEIGHT}%`}
      viewBox={`0 0 ${SIDE} ${SIDE}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {children}
    </svg>
  )
}

type LevelsProps = { readonly words: Words; readonly scale: Heights; readonly share?: boolean }

/** Grid lines at round values, each labelled above it. Counts have integer levels only. */
function Levels({ words, scale, share = false }: LevelsProps) {
  const levels = scale.ticks(TICKS).filter((value) => share || Number.isInteger(value))
  return levels.map((value) => {
    const y = `${round(ABOVE + (scale(value) / SIDE) * HEIGHT)}%`
    return (
      <g key={value}>
        <line class="level" x1="0" x2="100%" y1={y} y2={y} />
        {value > 0 && (
          <text x="0" y={y} dy="-4">
            {share ? words.percent(value) : words.compact(value)}
          </text>
        )}
      </g>
    )
  })
}

type MarksProps = { readonly marks: readonly { readonly at: number; readonly text: string }[] }

/** Labels below the plane at the given fractions of its width; the outer ones are anchored to stay inside. */
function Marks({ marks }: MarksProps) {
  return marks.map(({ at, text }) => (
    <text class="mark" key={at} x={`${round(at * 100)}%`} y="98%" text-anchor={anchorOf(at)}>
      {text}
    </text>
  ))
}

function anchorOf(at: number): 'start' | 'middle' | 'end' {
  if (at < 0.1) return 'start'
  return at > 0.9 ? 'end' : 'middle'
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
