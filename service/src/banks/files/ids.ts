/** Ids of our messages. Banks accept 35 characters, and accept a message id only once. */
import type { InstructionKey } from '../../rails/index.ts'

const uuidHex = (uuid: string): string => uuid.replaceAll('-', '')
const idForm = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})(?:-([2-9]))?$/

/** Formats the InstrId of a payment. A second attempt, by another scheme, is another instruction for the bank. */
export const bankInstructionId = ({ id, attempt }: { readonly id: string; readonly attempt: number }): string =>
  attempt === 1 ? uuidHex(id) : `${uuidHex(id)}-${attempt}`

/** Reports whether the service created the end-to-end id. Such ids are unique. An id from the partner is any text and may repeat. */
export const isOwnEndToEndId = ({ id, endToEndId }: { readonly id: string; readonly endToEndId: string }): boolean =>
  endToEndId === uuidHex(id)

/** Formats a payment for people: its end-to-end id, followed by its InstrId if the partner chose the end-to-end id. */
export const formatPaymentLabel = (payment: { readonly id: string; readonly endToEndId: string }): string =>
  isOwnEndToEndId(payment) ? payment.endToEndId : `${payment.endToEndId} (InstrId ${uuidHex(payment.id)})`

/** Parses an InstrId; undefined if it is not ours. */
export function parseInstructionId(
  text: string,
): (Pick<InstructionKey, 'id'> & { readonly attempt: number }) | undefined {
  const [, a, b, c, d, e, attempt = '1'] = idForm.exec(text.trim().toLowerCase()) ?? []
  return a === undefined ? undefined : { id: [a, b, c, d, e].join('-'), attempt: Number(attempt) }
}

const messagePrefixes = { 'pain.001': 'P', 'camt.055': 'R', 'camt.056': 'B' } as const
export type FileKind = keyof typeof messagePrefixes
const fileKinds = Object.keys(messagePrefixes) as readonly FileKind[]
/** Recalls use the customer's message (camt.055) or the message between banks (camt.056). */
export type RecallKind = Exclude<FileKind, 'pain.001'>
export const isRecallFile = (file: { readonly kind: FileKind } | undefined): boolean =>
  file !== undefined && file.kind !== 'pain.001'

export const formatMessageId = (kind: FileKind, fileId: string): string => `${messagePrefixes[kind]}${uuidHex(fileId)}`
/** Formats a PmtInfId. A file has one batch for each debited account. */
export const formatBatchId = (fileId: string, number: number): string => `${uuidHex(fileId)}-${number}`
const batchesMax = 9
export const formatBatchIds = (fileId: string): readonly string[] =>
  Array.from({ length: batchesMax }, (_none, index) => formatBatchId(fileId, index + 1))
export const formatFileName = (kind: FileKind, messageId: string): string => `${kind}-${messageId}.xml`
const fileNameForm =
  /^(pain\.001-P|camt\.055-R|camt\.056-B)([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})\.xml$/

/** Parses the name of a file; undefined if it is not ours. */
export function parseFileName(name: string): { readonly kind: FileKind; readonly id: string } | undefined {
  const [, start, ...parts] = fileNameForm.exec(name) ?? []
  const kind = fileKinds.find((each) => start?.startsWith(each))
  return kind && { kind, id: parts.join('-') }
}
