/** Reads CSV (RFC 4180) as a stream: quoted fields may have commas, doubled quotes and line ends. */
import type { Refuse } from './format.ts'

/** Characters of one record: the longest ones have some hundred spellings of a name. */
const recordCharsMax = 1_000_000

export type CsvReader = {
  readonly write: (text: string) => void
  /** Refuses (`cut`) a file that ends within a record. Each record ends with a line end, so that a cut one is known. */
  readonly end: () => void
  /** The present line; lines count from 1. */
  readonly line: () => number
}

/** `take` gets each record. An empty line is none. `refuse`: the form is wrong; `cut`: the file ends too early. */
export function createCsvReader(take: (fields: readonly string[]) => void, refuse: Refuse, cut: Refuse): CsvReader {
  let line = 1
  let fields: string[] = []
  let field = ''
  let chars = 0
  /** `closed`: after a quote within a quoted field, which either ends it or is doubled. */
  let state: 'start' | 'plain' | 'quoted' | 'closed' = 'start'
  const endField = () => {
    fields.push(field)
    field = ''
    state = 'start'
  }
  const endRecord = () => {
    const isEmpty = fields.length === 0 && field === '' && state === 'start'
    endField()
    const record = fields
    fields = []
    chars = 0
    if (!isEmpty) take(record)
  }
  const plain = (character: string) => {
    if (character === ',') endField()
    else if (character === '\n') endRecord()
    // A line end may have two characters.
    else if (character === '\r') return
    else if (state === 'closed') refuse('a quote stands within a field')
    else if (character === '"' && state === 'start') state = 'quoted'
    else {
      field += character
      state = 'plain'
    }
  }
  return {
    write: (text) => {
      for (const character of text) {
        chars += 1
        if (chars > recordCharsMax) refuse(`a record has more than ${recordCharsMax} characters`)
        if (state === 'quoted' && character === '"') state = 'closed'
        else if (state === 'quoted') field += character
        else if (state === 'closed' && character === '"') {
          field += character
          state = 'quoted'
        } else plain(character)
        if (character === '\n') line += 1
      }
    },
    end: () => {
      if (fields.length > 0 || field !== '' || state !== 'start') cut('the last record is cut')
    },
    line: () => line,
  }
}
