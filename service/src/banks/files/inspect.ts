/** Parses a file to its end before any of it is booked, and reports what is wrong with it. */
import {
  type MessageKind,
  MessageProblem,
  readAccountReport,
  readRecallAnswer,
  readStatusReport,
  type RecallAnswer,
  type ReportPart,
  recognise,
  type StatusReport,
} from '../../iso20022/index.ts'
import type { Oddity } from '../../rails/index.ts'
import { inspectReport, type InspectedReport } from './inspect-report.ts'
import type { BankRules } from './deps.ts'
import { keepParsed } from './parsed.ts'
import { type Spooled, sourceOf } from './spool.ts'

export type Inspected = { readonly messageId: string } & (
  | { readonly kind: 'camt.052' | 'camt.053' | 'camt.054'; readonly report: InspectedReport }
  | { readonly kind: 'pain.002'; readonly status: StatusReport }
  | { readonly kind: 'camt.029'; readonly answer: RecallAnswer }
)
/** A file that cannot be processed: `what` names its case. */
export type Refused = {
  readonly what: Oddity
  readonly problem: string
  readonly kind: string | null
  readonly messageId: string | null
}
/** `unfinished`: the file ends before the message does. */
export type Verdict =
  | { readonly message: Inspected }
  | { readonly refused: Refused }
  | { readonly unfinished: true; readonly refused: Refused }

/** `keep`: called repeatedly while a long file is read. `isReleased`: people have decided to take it although its sums differ, or its entries cannot be read. */
export async function inspect(
  spooled: Spooled,
  rules: BankRules,
  keep: () => Promise<void>,
  isReleased = false,
): Promise<Verdict> {
  let kind: MessageKind | null = null
  const refuse = (problem: string, what: Oddity = 'file_unreadable', messageId: string | null = null) => ({
    refused: { what, problem, kind, messageId },
  })
  const limits = { bytesMax: rules.messageBytesMax }
  const source = () => sourceOf(spooled.path)
  try {
    kind = (await recognise(source(), limits))?.kind ?? null
    switch (kind) {
      case null:
        return refuse(`${unknown}.`)
      case 'camt.052':
      case 'camt.053':
      case 'camt.054': {
        const parts = inDays(readAccountReport(source(), limits), rules.timeZone)
        const report = await inspectReport(keepParsed(spooled.path, parts), rules, keep)
        const { messageId, problem } = report
        if (problem !== undefined && !(isReleased && problem.mayBeTaken))
          return refuse(problem.text, problem.what, messageId)
        return { message: { kind, messageId, report } }
      }
      case 'pain.002': {
        const status = await readStatusReport(source(), limits)
        return { message: { kind, messageId: status.messageId, status } }
      }
      case 'camt.029': {
        const answer = await readRecallAnswer(source(), limits)
        return { message: { kind, messageId: answer.messageId, answer } }
      }
      default:
        return refuse(`The file is a ${kind}, which goes to a bank and does not come from one.`)
    }
  } catch (error) {
    if (!(error instanceof MessageProblem)) throw error
    const refused = refuse(kind === null ? `${unknown}: ${textOf(error)}` : textOf(error))
    return error.code === 'not_whole' ? { unfinished: true, ...refused } : refused
  }
}

const unknown = 'The file is not a known ISO 20022 message'

const textOf = ({ code, message, path, line }: MessageProblem): string =>
  `${message} (${code}, line ${line}${path === '' ? '' : `, ${path}`})`

/**
 * Replaces the times of bookings and balances by days of the bank: midnight in Berlin is 23:00 of the day before in UTC. Whatever reads
 * the parts of a report reads days.
 */
async function* inDays(
  groups: AsyncIterable<readonly ReportPart[]>,
  timeZone: string,
): AsyncGenerator<readonly ReportPart[]> {
  const dayOf = createDays(timeZone)
  const day = <Name extends string>(name: Name, written: string | undefined): { readonly [key in Name]?: string } =>
    written === undefined ? {} : ({ [name]: dayOf(written) } as { readonly [key in Name]: string })
  for await (const parts of groups)
    yield parts.map((part): ReportPart => {
      if (part.kind === 'entry') {
        const { entry } = part
        const days = { ...day('bookingDate', entry.bookingDate), ...day('valueDate', entry.valueDate) }
        return { ...part, entry: { ...entry, ...days } }
      }
      if (part.kind !== 'statement') return part
      const { statement } = part
      const balances = statement.balances.map((balance) => ({ ...balance, ...day('date', balance.date) }))
      return {
        ...part,
        statement: { ...statement, ...day('from', statement.from), ...day('to', statement.to), balances },
      }
    })
}

/** The last written time is remembered: entries beside each other have the same. */
function createDays(timeZone: string): (written: string) => string {
  let last = { written: '', day: '' }
  return (written) => {
    if (!/T.*(?:Z|[+-]\d\d:\d\d)$/.test(written)) return written.slice(0, 10)
    if (written === last.written) return last.day
    // The end of a day is no part of the next one.
    const at = Temporal.Instant.from(written.replace('T24:00:00', 'T23:59:59').replace(/(\.\d{9})\d+/, '$1'))
    last = { written, day: at.toZonedDateTimeISO(timeZone).toPlainDate().toString() }
    return last.day
  }
}
