/** Reads figures.json, in which every group of figures has the command that measured it and the machine. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Figures } from './model.ts'

export const FIGURES_FILE = join(import.meta.dirname, 'figures.json')

type Origin = {
  readonly command: string
  /** What a reader has to know. */
  readonly note?: string
  readonly machine: Readonly<Record<string, string | number>>
}

/** As in the file. */
export type MeasuredFigures = {
  readonly processor_microseconds: Origin & { readonly figures: Figures['processor'] }
  readonly bytes: Origin & { readonly figures: Figures['bytes'] }
  readonly memory: Readonly<Record<keyof Figures['memory'], Origin & { readonly bytes: number }>>
}

export function readFigures(): Figures {
  const measured: MeasuredFigures = JSON.parse(readFileSync(FIGURES_FILE, 'utf8'))
  const { perProcess, perHeldPoll } = measured.memory
  return {
    processor: measured.processor_microseconds.figures,
    bytes: measured.bytes.figures,
    memory: { perProcess: perProcess.bytes, perHeldPoll: perHeldPoll.bytes },
  }
}
