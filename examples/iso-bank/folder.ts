/**
 * The bank's files. A file of the company is taken by a renaming out of its folder; a file of the bank is written whole beside
 * the journal and renamed into the company's folder when it is due. So each file is taken once and appears once, also after a kill.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { syncFolder } from './journal.ts'

export type Folder = {
  readonly toBank: string
  readonly fromBank: string
  readonly state: string
  /** Takes the files of the company, oldest first. The first answer has those of before as well. */
  readonly taken: () => readonly { readonly inbox: string; readonly name: string }[]
  readonly readTaken: (inbox: string) => string
  readonly write: (files: ReadonlyMap<string, string>) => void
  readonly read: (name: string) => string
  readonly publish: (name: string) => void
  readonly publishHalf: (name: string) => void
  readonly isWaiting: (name: string) => boolean
  readonly remove: (name: string) => void
}

const unfinished = /^\.|\.(?:tmp|part|filepart)$/

export function openFolder(root: string, newReference: () => string): Folder {
  const [toBank, fromBank, state] = ['to-bank', 'from-bank', 'state'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  const [inboxDir, out] = [join(state, 'inbox'), join(state, 'out')]
  for (const path of [toBank, fromBank, inboxDir, out]) mkdirSync(path, { recursive: true })
  /** Files to read. At the start all of them: the journal says which are done. */
  let pending: string[] = readdirSync(inboxDir).toSorted()
  return {
    toBank,
    fromBank,
    state,
    taken: () => {
      const names = readdirSync(toBank).filter((name) => !unfinished.test(name))
      const files = names
        .map((name) => ({ name, stat: statSync(join(toBank, name)) }))
        .filter(({ stat }) => stat.isFile())
        .toSorted((left, right) => left.stat.mtimeMs - right.stat.mtimeMs)
      for (const { name } of files) {
        const taken = `${newReference()}-${name}`
        renameSync(join(toBank, name), join(inboxDir, taken))
        pending.push(taken)
      }
      if (files.length > 0) syncFolder(inboxDir)
      const all = pending.map((taken) => ({ inbox: taken, name: taken.slice(taken.indexOf('-') + 1) }))
      pending = []
      return all
    },
    readTaken: (taken) => readFileSync(join(inboxDir, taken), 'utf8'),
    write: (files) => {
      for (const [name, text] of files) {
        const file = openSync(join(out, name), 'w')
        writeFileSync(file, text)
        fsyncSync(file)
        closeSync(file)
      }
      if (files.size > 0) syncFolder(out)
    },
    read: (name) => readFileSync(join(out, name), 'utf8'),
    publish: (name) => {
      renameSync(join(out, name), join(fromBank, name))
      syncFolder(fromBank)
    },
    publishHalf: (name) => {
      const bytes = readFileSync(join(out, name))
      writeFileSync(join(fromBank, name), bytes.subarray(0, Math.floor(bytes.length / 2)))
    },
    isWaiting: (name) => existsSync(join(out, name)),
    remove: (name) => rmSync(join(out, name), { force: true }),
  }
}
