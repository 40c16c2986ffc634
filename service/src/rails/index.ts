/**
 * Rails: the port of bank and chain connectors, the rules that choose a payment's connector, and IBANs, SEPA and calendars,
 * which modules and connectors share.
 *
 * Every connector guarantees: `instruct` is idempotent by the instruction's id, `find` reports whether an instruction
 * arrived, and the bank repeats a notification until it is acknowledged. The connectors are edges (`banks`, `chains/evm`),
 * which modules do not load. How to write one: docs/guides/connectors.md.
 *
 * Tables of the connectors: rails.sandbox_* (bank and simulated chain), rails.internal_transfers, rails.chain_*,
 * rails.iso_* (file-based banks).
 */
export {
  addressProblem,
  checksumAddress,
  zeroAddress,
  type ChainNetwork,
  type ChainSimulator,
  type WalletView,
  type Tokens,
} from './chain.ts'
export {
  type BankFile,
  type BankFileFacts,
  type BankFiles,
  bankFileFilters,
  type BankFilesQuery,
  type FileEntry,
  type FilePayment,
  type FileRecall,
  type FileStatement,
} from './bank-files.ts'
export {
  type BankSimulator,
  type BankStep,
  type SimulatedPayer,
  type Acknowledgement,
  type BankNotification,
  type CallOptions,
  callTimeoutMsMax,
  type Connector,
  type ConnectorLimits,
  type Credit,
  type Debit,
  type DebitReason,
  type Forecast,
  type ForecastPayment,
  type IncomingDebtor,
  type Instruction,
  type InstructionKey,
  type InstructionOutcome,
  type Money,
  type BankOddity,
  type PayeeResult,
  type PayerOrigin,
  type RecallOutcome,
  type RecallRequest,
  type WaitingPayment,
  untilAborted,
  type ConnectorHealth,
  type ConnectorState,
  createConnectorHealth,
} from './port.ts'
export { bankTextCharsMax, joinBankTexts, withBankText } from './bank-text.ts'
export {
  type BankBooks,
  type BankEntry,
  type BankInstruction,
  type BankStatement,
  type BooksAccount,
  type EntryScope,
  type EntrySums,
  type PendingReport,
  type Sums,
  balancesAlong,
  inOrder,
  isJoined,
  isRepetition,
  isSameStatement,
  missingByNumber,
  type StatementNumbering,
  statementNumberings,
  numberStep,
  formatPageId,
  readPageNumber,
  type Versions,
} from './books.ts'
export {
  type Calendar,
  bankDay,
  isOpenFor,
  isTargetDay,
  lastListedOn,
  nextWindow,
  earliestSubmission,
  valueDateOf,
} from './calendar.ts'

export {
  chainConnectorId,
  internalConnectorId,
  isChainConnectorId,
  isIsoConnectorId,
  isoConnectorId,
  sandboxConnectorId,
  simulatedChainConnectorId,
  type ChooseConnector,
  createChooseConnector,
} from './rules.ts'
export {
  addressText,
  holdsOn,
  lackingOf,
  lackingText,
  type RequiredPayee,
  type Requirement,
  requirements,
  requirementsOf,
} from './requirements.ts'
export {
  type DomesticAccount,
  accountTypeCodes,
  domesticCountryOf,
  domesticCurrencies,
  domesticText,
  readAmericanNumber,
  readBritishNumber,
  readDomestic,
  readSortCode,
  routingProblem,
} from './domestic.ts'
export {
  bankKeyOf,
  type BritishAccount,
  britishAccountOf,
  ibanCountries,
  ibanMistake,
  ibanProblem,
  isBic,
  isIban,
  isQrIban,
  qrMistake,
  qrMistakes,
  readQrReference,
  railOf,
  territoriesWithIbansOf,
} from './ibans.ts'
export { debtorLacks, type PayerData, payerLacks, type PayerRegion, payerRegionOf } from './payer-data.ts'
