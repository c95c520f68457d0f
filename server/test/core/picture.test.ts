/** What an uploaded picture may be. */
import { describe, expect, it } from 'vitest'
import { isWithinSize, MAX_SIDE_PIXELS } from '../../src/core/picture.ts'

const TOO_LONG = MAX_SIDE_PIXELS + 1

describe('a picture', () => {
  it.each([
    [1, 1],
    [1, MAX_SIDE_PIXELS],
    [MAX_SIDE_PIXELS, 1],
    [MAX_SIDE_PIXELS, MAX_SIDE_PIXELS],
  ])('of %d × %d pixels is within the size', (width, height) => {
    expect(isWithinSize(width, height)).toBe(true)
  })

  it.each([
    [0, 1],
    [1, 0],
    [0, MAX_SIDE_PIXELS],
    [MAX_SIDE_PIXELS, 0],
    [TOO_LONG, 1],
    [1, TOO_LONG],
    [TOO_LONG, MAX_SIDE_PIXELS],
    [MAX_SIDE_PIXELS, TOO_LONG],
  ])('of %d × %d pixels is not: a side is missing or too long', (width, height) => {
    expect(isWithinSize(width, height)).toBe(false)
  })
})
