/**
 * ISO 20022 messages, as a model separate from their XML. Readers and writers stream, so that messages of any length take
 * constant memory. README.md lists the messages; `schemas/` has the parts of the schemas that the writers use.
 */
export {
  type BankStatement,
  type Camt053Version,
  camt053MinorMax,
  camt053Xml,
  type StatementEntry,
  type TransactionCode,
} from './camt053.ts'
export {
  formatCreditorReference,
  isCreditorReference,
  referencesInPayment,
  referencesInTexts,
  type ReferenceCandidates,
} from './creditor-reference.ts'
export { type MessageKind, recogniseMessage } from './messages.ts'
export type * from './model.ts'
export { MessageProblem, type ProblemCode, type MessageLimits, limitsDefault, type MessageSource } from './source.ts'
export {
  type PaymentKindForm,
  type Pain001Profile,
  pain001Xml,
  type PaymentKind,
  type ProfileRule,
} from './profiles/profile.ts'
export { profileIds, profileById, defaultProfile } from './profiles/profiles.ts'
export { readAccountReport } from './readers/account-report.ts'
export { readPain001, readRecall, readRecallAnswer } from './readers/recall.ts'
export { readStatusReport } from './readers/status-report.ts'
export {
  explainReason,
  bankReasons,
  type PayeeResult,
  type StatusMeaning,
  bankStatuses,
  findStatus,
} from './reasons.ts'
export { toSepaCharacters, isSepaReference, sepaText } from './sepa-message.ts'
export { splitDocuments } from './split.ts'
export { accountReportXml } from './writers/account-report.ts'
export { recallAnswerXml, recallXml } from './writers/recall.ts'
export { statusReportXml } from './writers/status-report.ts'
export { decodeMessage } from './xml/decode.ts'
export { createScanner } from './xml/scanner.ts'
export type { XmlTag } from './xml/tags.ts'
export { declaration as xmlDeclaration, element as xmlElement, shorten, xmlText } from './xml/text.ts'
