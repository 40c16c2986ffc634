/**
 * The journal of the bank: each line of the file is a set of records that take effect together, flushed before its effects are visible
 * outside. An incomplete last line is ignored.
 */
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { fromJson, toJson } from './json.ts'

type Journal<T> = { readonly commit: (records: readonly T[]) => void; readonly close: () => void }

export function openJournal<T>(path: string, apply: (record: T) => void): Journal<T> {
  let whole = 0
  if (existsSync(path)) {
    const bytes = readFileSync(path)
    whole = bytes.lastIndexOf(10) + 1
    for (const line of bytes.subarray(0, whole).toString('utf8').split('\n'))
      if (line !== '') for (const record of fromJson(line) as readonly T[]) apply(record)
  }
  const file = openSync(path, 'a')
  ftruncateSync(file, whole)
  syncFolder(dirname(path))
  return {
    commit: (records) => {
      if (records.length === 0) return
      writeSync(file, `${toJson(records)}\n`)
      fdatasyncSync(file)
      for (const record of records) apply(record)
    },
    close: () => closeSync(file),
  }
}

export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  fsyncSync(folder)
  closeSync(folder)
}
