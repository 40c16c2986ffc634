/** Parses a file to its end before any of it is booked, and reports what is wrong with it. */
import {
  type MessageKind,
  MessageProblem,
  readAccountReport,
  readRecallAnswer,
  readStatusReport,
  type RecallAnswer,
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

/** `keep`: called repeatedly while a long file is read. `isReleased`: people have decided to take it although its sums differ. */
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
        const report = await inspectReport(keepParsed(spooled.path, readAccountReport(source(), limits)), rules, keep)
        const { messageId, problem } = report
        if (problem !== undefined && !(isReleased && problem.what === 'sum_differs'))
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
