/** Samples of an hour are judged and drawn. */
import { SaxesParser } from 'saxes'
import { expect, test } from 'vitest'
import { judgeSamples, KILLED, type Sample } from './figures.ts'
import { drawSoak } from './picture.ts'

/** An hour, with a month every minute. Server 1 keeps a megabyte a minute, and so does the one that is killed. */
const samples = Array.from({ length: 720 }, (_, at): Sample => {
  const minutes = at / 12
  const processes = { 'memory/server 1': 100 + minutes, [`memory/${KILLED}`]: 100 + minutes, 'descriptors/Redis': 12 }
  const sizes = Object.fromEntries(Array.from({ length: 50 }, (_, table) => [`tables/table_${table}`, table / 10]))
  return {
    seconds: at * 5,
    figures: { ...processes, ...(at % 12 === 11 && sizes) },
    ...(at % 3 === 0 && { fault: 'x' }),
  }
})

test('a server that keeps a megabyte a minute grows; nothing is said of one that is killed again and again', () => {
  const growing = judgeSamples(samples).filter(({ grows }) => grows)
  expect(growing.map(({ kind, name, unit }) => [kind, name, unit])).toEqual([['memory', 'server 1', 'MB']])
})

test('the picture is well-formed and small, names units and the largest series, and follows a dark theme', () => {
  const picture = drawSoak(samples, 'One hour, "A" & B')
  const parser = new SaxesParser()
  const texts: string[] = []
  parser.on('error', (error) => {
    throw error
  })
  parser.on('text', (text) => texts.push(text))
  parser.write(picture).close()
  expect(texts).toEqual(expect.arrayContaining(['One hour, "A" & B', 'Memory of each process, MB', '60 min']))
  expect(texts).toEqual(expect.arrayContaining(['table_49 4.9', '45 others 99']))
  expect(picture).toContain('prefers-color-scheme: dark')
  expect(picture.length).toBeLessThan(40_000)
})
