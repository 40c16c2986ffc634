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
  creditorReferenceOf,
  isCreditorReference,
  referencesInPayment,
  namedInTexts,
  type ReferenceCandidates,
} from './creditor-reference.ts'
export { type MessageKind, type MessageName, recognise } from './messages.ts'
export type * from './model.ts'
export { MessageProblem, type ProblemCode, type Limits, limitsDefault, type Source } from './source.ts'
export { type KindForm, type Pain001Profile, pain001Xml, type PaymentKind, type Rule } from './profiles/profile.ts'
export { profileIds, profileOf, usualProfile } from './profiles/profiles.ts'
export { readAccountReport } from './readers/account-report.ts'
export { readPain001, readRecall, readRecallAnswer } from './readers/recall.ts'
export { readStatusReport } from './readers/status-report.ts'
export {
  type BankReason,
  reasonOf,
  reasons,
  type PayeeResult,
  type StatusMeaning,
  statuses,
  findStatus,
} from './reasons.ts'
export { toSepaCharacters, isSepaReference, sepaText } from './sepa-message.ts'
export { splitDocuments } from './split.ts'
export { accountReportXml } from './writers/account-report.ts'
export { recallAnswerXml, recallXml } from './writers/recall.ts'
export { statusReportXml } from './writers/status-report.ts'
export { decoded } from './xml/decode.ts'
export { createScanner } from './xml/scanner.ts'
export type { Tag } from './xml/tags.ts'
export { declaration as xmlDeclaration, element as xmlElement, shortened, xmlText } from './xml/text.ts'
