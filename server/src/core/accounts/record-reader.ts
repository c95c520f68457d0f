/**
 * Splits the text of a CSV file (RFC 4180) or of JSON lines into records, piece by piece, so that a file of any size takes
 * little memory.
 */

export type TextRecord = {
  /** Line of the file on which it starts, from 1. */
  readonly line: number
  /** Null: the record is too long. */
  readonly cells: readonly string[] | null
}

export type RecordReader = {
  read(text: string): readonly TextRecord[]
  /** The last record, if the file does not end with a line break. */
  end(): readonly TextRecord[]
}

/** Longer than any user; an unclosed quotation mark must not collect the rest of the file. */
const MAX_LENGTH = 64 * 1024

export function createCsvReader(): RecordReader {
  let line = 1
  let startedOn = 1
  let cells: string[] = []
  let cell = ''
  let length = 0
  let quoted = false
  let afterQuote = false

  const finish = (): TextRecord | null => {
    const record = { line: startedOn, cells: length > MAX_LENGTH ? null : [...cells, cell] }
    const empty = length === 0
    cells = []
    cell = ''
    length = 0
    quoted = false
    afterQuote = false
    startedOn = line
    return empty ? null : record
  }
  const add = (character: string) => {
    length += 1
    if (length <= MAX_LENGTH) cell += character
  }
  const readCharacter = (character: string): TextRecord | null => {
    if (character === '\n') line += 1
    if (quoted && character !== '"') {
      add(character)
      return null
    }
    if (character === '"') {
      length += 1
      // Two quotation marks inside a quoted cell stand for one.
      if (afterQuote && length <= MAX_LENGTH) cell += '"'
      quoted = !quoted
      afterQuote = !quoted
      return null
    }
    afterQuote = false
    if (character === '\n') return finish()
    if (character === ',') {
      length += 1
      if (length <= MAX_LENGTH) cells.push(cell)
      cell = ''
      return null
    }
    if (character !== '\r') add(character)
    return null
  }
  return {
    read: (text) => {
      const records: TextRecord[] = []
      for (const character of text) {
        const record = readCharacter(character)
        if (record) records.push(record)
      }
      return records
    },
    end: () => [finish()].filter((record) => record !== null),
  }
}

/** One cell per record: the line. */
export function createLineReader(): RecordReader {
  let line = 1
  let held = ''
  let tooLong = false

  const finish = (text: string): TextRecord[] => {
    const record = { line, cells: tooLong || text.length > MAX_LENGTH ? null : [text] }
    line += 1
    tooLong = false
    return text.trim() === '' && record.cells ? [] : [record]
  }
  return {
    read: (text) => {
      const parts = (held + text).split('\n')
      held = parts.pop() ?? ''
      const records = parts.flatMap(finish)
      if (held.length > MAX_LENGTH) {
        tooLong = true
        held = ''
      }
      return records
    },
    end: () => finish(held),
  }
}
