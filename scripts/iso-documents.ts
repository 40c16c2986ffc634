/** Messages of every kind as arbitrary values, each with its writer and its reader. */
import type fc from 'fast-check'
import {
  accountReportXml,
  type MessageKind,
  pain001Xml,
  readAccountReport,
  readPain001,
  readRecall,
  readRecallAnswer,
  readStatusReport,
  recallAnswerXml,
  recallXml,
  type ReportPart,
  type MessageSource,
  statusReportXml,
} from '../service/src/iso20022/index.ts'
import { report } from '../test/support/iso-reports.ts'
import { initiation, recall, recallAnswer, statusReport } from '../test/support/iso-values.ts'

/** Bytes in chunks of a length, as a source. */
export async function* chunks(bytes: Uint8Array, length = bytes.length): MessageSource {
  for (let at = 0; at < bytes.length; at += Math.max(1, length)) yield bytes.subarray(at, at + Math.max(1, length))
}

export async function reportParts(source: MessageSource): Promise<readonly ReportPart[]> {
  const parts: ReportPart[] = []
  for await (const some of readAccountReport(source)) parts.push(...some)
  return parts
}

/** A message: its value, its name, its text, and the reader of its text. */
export type Message = {
  readonly value: unknown
  readonly name: string
  readonly xml: string
  readonly read: (source: MessageSource) => Promise<unknown>
}

const message = <T>(
  values: fc.Arbitrary<T>,
  name: (value: T) => string,
  write: (value: T) => Iterable<string>,
  read: (source: MessageSource) => Promise<T>,
): fc.Arbitrary<Message> => values.map((value) => ({ value, name: name(value), xml: [...write(value)].join(''), read }))

const kindOf = (parts: readonly ReportPart[]): string => (parts[0]?.kind === 'head' ? parts[0].head.kind : '')

export const messages = {
  'pain.001': message(
    initiation,
    () => 'pain.001.001.09',
    pain001Xml,
    (source) => readPain001(source),
  ),
  'pain.002': message(
    statusReport,
    () => 'pain.002.001.10',
    statusReportXml,
    (source) => readStatusReport(source),
  ),
  'camt.05x': message(report, (parts) => `${kindOf(parts)}.001.08`, accountReportXml, reportParts),
  recall: message(
    recall,
    ({ kind }) => `${kind}.001.08`,
    recallXml,
    (source) => readRecall(source),
  ),
  'camt.029': message(
    recallAnswer,
    () => 'camt.029.001.09',
    recallAnswerXml,
    (source) => readRecallAnswer(source),
  ),
} as const

/** Returns the reader of a kind of message. */
export function readerOf(kind: MessageKind | undefined): ((source: MessageSource) => Promise<unknown>) | undefined {
  if (kind === 'pain.001') return readPain001
  if (kind === 'pain.002') return readStatusReport
  if (kind === 'camt.029') return readRecallAnswer
  if (kind === 'camt.055' || kind === 'camt.056') return readRecall
  return kind && reportParts
}
