/** Charts: shapes, labels, and the text without data. */
import { type ComponentChildren, h } from 'preact'
import { renderToString } from 'preact-render-to-string'
import { describe, expect, it } from 'vitest'
import { type Bucket, Buckets, ChartFigure, Days, Steps, type Tone } from '../../../src/pages/ui/chart.tsx'
import { wordsFor } from '../../../src/pages/ui/words.ts'

const words = wordsFor('en')
const AT = Date.UTC(2026, 10, 15, 12)
const STEP = 5 * 60_000
const DAY = 86_400_000
const MARK = '<img src=x onerror=alert(1)>'

const drawn = (picture: ComponentChildren) => renderToString(h('svg', null, picture))
const overTime = (buckets: readonly Bucket[], tones: readonly Tone[] = ['first'], share = false) =>
  drawn(h(Buckets, { words, buckets, step: STEP, tones, share }))
const byDay = (days: readonly Bucket[], tones: readonly Tone[] = ['first']) => drawn(h(Days, { words, days, tones }))
const inSteps = (...steps: { text: string; value: number }[]) => drawn(h(Steps, { words, steps }))

const bucketsOf = (...values: number[][]) => values.map((each, index) => ({ at: AT + index * STEP, values: each }))
const daysOf = (count: number) =>
  Array.from({ length: count }, (_, place) => ({ at: AT + place * DAY, values: [place, 1] }))

const found = (text: string, pattern: RegExp) => Array.from(text.matchAll(pattern), (each) => each.slice(1))
const paths = (text: string) => found(text, /<path class="(\w+)" d="([^"]*)"/g)
const written = (text: string) => found(text, /<text[^>]*>([^<]*)</g).flat()
const bars = (text: string) => found(text, /<rect class="(\w+)"[^>]*? width="([\d.]+)%?" height="([\d.]+)%?"/g)

const EMPTY = '<svg></svg>'
const noNonsense = (text: string) => expect(text).not.toMatch(/NaN|Infinity|undefined|null/)

describe('values over time', () => {
  it('are areas from the baseline, over the whole width and up to a round number', () => {
    const text = overTime(bucketsOf([50], [100]))
    // Each of the two with both of its edges, and back along the baseline.
    expect(paths(text)).toEqual([['first', 'M0,500L500,500L500,0L1000,0L1000,1000L500,1000L500,1000L0,1000Z']])
    expect(written(text)).toEqual(expect.arrayContaining(['50', '100', '12:00', '12:05']))
    noNonsense(text)
  })

  it('a single value has a width', () => {
    const text = overTime(bucketsOf([7]))
    expect(paths(text)[0]?.[1]).toMatch(/^M0,[\d.]+L1000,[\d.]+L1000,1000L0,1000Z$/)
    noNonsense(text)
  })

  it('drop to the baseline where data is missing', () => {
    const [first, , , last] = bucketsOf([10], [0], [0], [10])
    const text = overTime([first, last] as Bucket[])
    expect(paths(text)[0]?.[1]).toContain('M0,0L250,0L250,1000L750,1000L750,0L1000,0')
  })

  it('a limit is a line, in front of the rest', () => {
    const text = overTime(bucketsOf([80, 60, 20], [100, 70, 20]), ['first', 'second', 'limit'])
    expect(paths(text).map(([tone]) => tone)).toEqual(['first', 'second', 'limit'])
    expect(paths(text)[2]?.[1]).toBe('M0,800L500,800L500,800L1000,800')
  })

  it('shares use a scale up to 100 %, whatever the maximum', () => {
    const text = overTime(bucketsOf([0.25]), ['second'], true)
    expect(paths(text)[0]?.[1]).toContain('M0,750L1000,750')
    expect(written(text)).toEqual(expect.arrayContaining(['50%', '100%']))
  })

  it('zeros are a flat line, and without data nothing is drawn', () => {
    const flat = overTime(bucketsOf([0], [0]))
    expect(paths(flat)[0]?.[1]).toContain('M0,1000')
    noNonsense(flat)
    expect(overTime([])).toBe(EMPTY)
  })

  it('counts have whole ticks, and large numbers are abbreviated', () => {
    expect(written(overTime(bucketsOf([1]))).filter((text) => /\d\.\d/.test(text))).toEqual([])
    expect(written(overTime(bucketsOf([2_000_000])))).toContain('2m')
  })

  it('over more than two days have dates as labels, not times', () => {
    const buckets = Array.from({ length: 4 }, (_, place) => ({ at: AT + place * DAY, values: [1] }))
    expect(written(overTime(buckets)).filter((text) => /Nov/.test(text)).length).toBeGreaterThan(1)
  })
})

describe('numbers of each day', () => {
  it('are bars beside each other, with proportional heights', () => {
    const text = byDay(daysOf(3), ['first', 'second'])
    expect(bars(text).map(([tone, , height]) => `${tone} ${height}`)).toEqual([
      'first 0',
      'second 500',
      'first 500',
      'second 500',
      'first 1000',
      'second 500',
    ])
    noNonsense(text)
  })

  it('have a few dates as labels', () => {
    const dates = written(byDay(daysOf(30))).filter((text) => /Nov|Dec/.test(text))
    expect(dates).toEqual(['15 Nov', '23 Nov', '1 Dec', '9 Dec'])
  })

  it('one day fills its slot, no day leaves it empty', () => {
    expect(bars(byDay(daysOf(1)))).toEqual([['first', '800', '0']])
    expect(byDay([])).toBe(EMPTY)
  })
})

describe('steps', () => {
  it('are bars below each other, the longest over the whole width, each with its label and number', () => {
    const text = inSteps({ text: 'Asked for', value: 1_200 }, { text: 'Allowed', value: 300 })
    expect(
      bars(text)
        .filter(([tone]) => tone === 'first')
        .map(([, width]) => width),
    ).toEqual(['100', '25'])
    expect(written(text)).toEqual(['Asked for', '1,200', 'Allowed', '300'])
  })

  it('are not drawn if all are zero', () => {
    expect(inSteps({ text: 'Asked for', value: 0 })).toBe(EMPTY)
  })
})

describe('a figure', () => {
  const figure = (given: Partial<Parameters<typeof ChartFigure>[0]> = {}) =>
    renderToString(
      h(ChartFigure, {
        words,
        id: 'chart-x',
        title: 'New users',
        about: 'Three of them.',
        picture: h('g', null),
        nothing: 'Nobody.',
        table: { head: ['Day', 'New'], rows: [['15 November 2026', '3']] },
        ...given,
      }),
    )

  it('has a name, a description and a table of its data', () => {
    const text = figure()
    expect(text).toContain('role="img" aria-labelledby="chart-x-title chart-x-about"')
    expect(text).toContain('<title id="chart-x-title">New users</title><desc id="chart-x-about">Three of them.</desc>')
    expect(text).toContain('<th scope="row">15 November 2026</th><td class="figures">3</td>')
  })

  it('runs from left to right in every language, with labels in their own direction', () => {
    const text = figure({ words: wordsFor('ar') })
    expect(text).toMatch(/^<figure class="chart" dir="ltr"/)
    expect(text).toContain('<figcaption dir="rtl">')
    expect(text).toContain('<details dir="rtl">')
  })

  it('shows a sentence without data, and draws nothing', () => {
    const text = figure({ picture: null })
    expect(text).toContain('Nobody.')
    expect(text).not.toMatch(/<svg|<table/)
  })

  it('cannot contain markup, and has no inline style', () => {
    const keys = [{ tone: 'first', text: MARK }] as const
    const table = { head: [MARK], rows: [[MARK, MARK]] }
    const picture = h(Steps, { words, steps: [{ text: MARK, value: 1 }] })
    const text = figure({ title: MARK, about: MARK, nothing: MARK, keys, picture, table })
    expect(text).not.toContain('<img')
    expect(text).not.toContain(' style=')
  })
})
