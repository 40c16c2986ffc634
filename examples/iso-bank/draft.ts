/** Draft of one step of the bank before its commit: records for the journal, and files with their bytes. */
import { type Clock, newId } from '../../service/src/kernel/index.ts'
import type { Entry, FileFault, FileKind, OddityRecord } from './model.ts'
import type { OutFile, Record, State, Work } from './state.ts'

export type Draft = {
  readonly now: Date
  readonly state: State
  readonly records: Record[]
  readonly bytes: Map<string, string>
  /** How often the draft uses a standing order. */
  readonly used: Map<string, number>
}

export const createDraft = (state: State, clock: Clock): Draft => ({
  now: clock.now(),
  state,
  records: [],
  bytes: new Map(),
  used: new Map(),
})

/** 32 characters, so that it fits every reference of ISO 20022. */
export const newReference = (): string => newId().replaceAll('-', '')

export const later = ({ now }: Draft, ms: number): string => new Date(now.getTime() + ms).toISOString()

export const note = ({ records }: Draft, oddity: OddityRecord): void => void records.push({ t: 'oddity', oddity })

export const plan = (draft: Draft, ms: number, work: Work): void =>
  void draft.records.push({ t: 'task', task: { ...work, id: newReference(), at: later(draft, ms) } })

export const book = ({ records }: Draft, entry: Entry): void => void records.push({ t: 'entry', entry })

/** Writes a message. `wrong`: a number in it is to be false. */
export type Build = (messageId: string, wrong?: 'wrong sum' | 'wrong balance') => string

/** Sends a message `ms` from now, or does with it what was ordered for the next one of its kind, unless it `isPlain`. */
export function send(draft: Draft, kind: FileKind, build: Build, ms = 0, isPlain = false): void {
  const fault = isPlain ? undefined : nextFault(draft, kind)
  const messageId = newReference()
  const name = `${kind}-${messageId}.xml`
  const at = later(draft, ms)
  const whole = build(messageId)
  const put = (file: string, how: OutFile['how'], text: string, id = messageId) => {
    draft.records.push({ t: 'file', file: { name: file, kind, messageId: id, at, how } })
    draft.bytes.set(file, text)
  }
  if (fault !== undefined)
    note(draft, { kind: `file ${fault}`, subject: wrongName(fault, name), amount: null, currency: null })
  switch (fault) {
    case undefined:
      if (draft.state.settings.twice) put(`${kind}-${messageId}-2.xml`, 'whole', whole)
      return put(name, 'whole', whole)
    case 'half':
      return put(name, 'half', whole)
    case 'omit':
      return put(name, 'omitted', whole)
    case 'twice':
      put(name, 'whole', whole)
      return put(`${kind}-${messageId}-2.xml`, 'whole', whole)
    case 'same id':
      put(name, 'whole', whole)
      return put(wrongName(fault, name), 'whole', otherContents(whole))
    case 'garbage':
      put(wrongName(fault, name), 'whole', `<?xml version="1.0"?>\n<Document>\u0000${newReference()}`)
      return put(name, 'whole', whole)
    case 'cut':
      put(name, 'whole', whole.slice(0, Math.floor(whole.length / 2)))
      return put(`kept-${name}`, 'kept', whole)
    case 'wrong sum':
    case 'wrong balance':
      put(name, 'whole', build(messageId, fault))
      return put(`kept-${name}`, 'kept', whole)
  }
}

/** The file that is wrong: the one that comes besides the right one, where there is one. */
const wrongName = (fault: FileFault, name: string): string =>
  fault === 'garbage' ? name.replace('.xml', '-0.xml') : fault === 'same id' ? name.replace('.xml', '-other.xml') : name

function nextFault({ records, state }: Draft, kind: FileKind): FileFault | undefined {
  const used = records.filter((record) => record.t === 'file order used' && record.kind === kind).length
  const found = state.fileOrders.filter((order) => order.kind === kind)[used]
  if (found) records.push({ t: 'file order used', kind })
  return found?.fault
}

/** The same message, written a day earlier. */
const otherContents = (text: string): string =>
  text.replace(/<CreDtTm>([^<]+)<\/CreDtTm>/, (_all, at: string) => `<CreDtTm>${dayBefore(at)}</CreDtTm>`)
const dayBefore = (at: string): string => new Date(new Date(at).getTime() - 86_400_000).toISOString()
