/** Pure: cases that an answer of the bank opens, besides what it says of each payment. */
import { type PayeeResult, type StatusReport, statusOf } from '../../iso20022/index.ts'
import { isRecallFile } from './ids.ts'
import { oddity, type Report } from './reports.ts'
import { meaningOf, reasonText } from './status-meanings.ts'
import type * as store from './store-words.ts'

const toldMax = 5
const codeCharsMax = 35

type Told = {
  readonly file: store.OurFile | undefined
  readonly unknown: readonly string[]
  /** The bank has refused a repetition, without saying what becomes of the payments that it has. */
  readonly isUnclear: boolean
  readonly mismatches: readonly Mismatch[]
}

/** The cases of an answer as a whole. */
export function oddities(
  of: { readonly operatorId: string; readonly connector: string },
  messageId: string,
  report: StatusReport,
  { file, unknown, isUnclear, mismatches }: Told,
): readonly Report[] {
  const { originalMessageId, groupStatus, reasons, batches } = report
  const found: Report[] = []
  const meaning = meaningOf(groupStatus, reasons)
  const isRecallUnclear =
    isRecallFile(file) && meaning === 'duplicate' && meaningOf(file?.bankStatus ?? undefined, []) === undefined
  if (file === undefined) {
    const text = `The bank answers the message ${originalMessageId}, which is none of ours that is known.`
    found.push(oddity(of, 'entry_unclear', text, ['answer', originalMessageId]))
  } else if (meaning === 'rejected') {
    const text = `The bank has refused the file ${originalMessageId}: ${reasonText(reasons)}.`
    found.push(oddity(of, 'file_refused', text, [originalMessageId], file.id))
  } else if (isUnclear || isRecallUnclear) {
    const why = reasonText([...reasons, ...batches.flatMap((batch) => batch.reasons)])
    const text = `The bank refuses ${originalMessageId} because it has it already: ${why}. It has not said whether it executes it. Nothing has failed: the payments wait for its booking.`
    found.push(oddity(of, 'file_refused', text, [originalMessageId, 'duplicate'], file.id))
  }
  if (unknown.length > 0 && file !== undefined) {
    const text = `The bank names ${unknown.length} payments that are not known: ${unknown.slice(0, toldMax).join(', ')}.`
    found.push(oddity(of, 'entry_unclear', text, ['payments', messageId]))
  }
  const codes = unknownStatuses(report)
  if (codes.length > 0) {
    const text = `The bank answers ${originalMessageId} by a status that is not known: ${codes.join(', ')}. It has changed nothing.`
    found.push(oddity(of, 'entry_unclear', text, ['status', originalMessageId, ...codes]))
  }
  if (file !== undefined && mismatches.length > 0) {
    const text = `The bank has checked the payees of ${originalMessageId}: ${mismatchText(mismatches)}. If your agreement asks for a release, release the file at the bank or withdraw it there.`
    found.push(oddity(of, 'payee_mismatch', text, [messageId], file.id))
  }
  return found
}

/** Payments whose payee does not match, or only closely. */
export type Mismatch = { readonly name: string; readonly payee: PayeeResult }

function mismatchText(mismatches: readonly Mismatch[]): string {
  const count = (payee: PayeeResult) => mismatches.filter((one) => one.payee === payee).length
  const names = mismatches.slice(0, toldMax).map(({ name }) => name)
  return `${count('no_match')} names do not match and ${count('close_match')} match closely (${names.join(', ')})`
}

const unknownStatuses = ({ groupStatus, batches }: StatusReport): readonly string[] => {
  const given = [
    groupStatus,
    ...batches.flatMap(({ status, transfers }) => [status, ...transfers.map((one) => one.status)]),
  ]
  return [
    ...new Set(given.flatMap((code) => (code === undefined || statusOf(code) ? [] : [code.slice(0, codeCharsMax)]))),
  ]
    .toSorted()
    .slice(0, toldMax)
}
