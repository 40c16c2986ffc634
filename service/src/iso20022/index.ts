/**
 * ISO 20022 messages: the model of a message apart from its XML. Writers stream, so that a message of any length takes
 * constant memory. `camt.053.001.08.xsd` is the part of the schema that `camt053.ts` uses; the tests validate against it.
 */
export { type BankStatement, camt053Xml, type StatementEntry, type TransactionCode } from './camt053.ts'
