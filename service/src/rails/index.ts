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
  type TokenContracts,
} from './chain.ts'
export {
  type BankFile,
  type BankFileDetails,
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
  type PayerStep,
  type SimulatedPayer,
  type Acknowledgement,
  type BankNotification,
  type CallOptions,
  callTimeoutMsMax,
  type Connector,
  type Credit,
  type Debit,
  type DebitReason,
  type Forecast,
  type ForecastPayment,
  type IncomingDebtor,
  type Instruction,
  type InstructionKey,
  type InstructionOutcome,
  type BankAnomaly,
  type PayeeResult,
  type RecallOutcome,
  type RecallRequest,
  type InstructionSummary,
  untilAborted,
  type ConnectorHealth,
  type ConnectorState,
  createConnectorHealth,
} from './port.ts'
export { joinBankTexts, withBankText } from './bank-text.ts'
export {
  type BankBooks,
  type BankEntry,
  type BankInstruction,
  type BankStatement,
  type BooksAccount,
  type EntryScope,
  type EntrySums,
  type PendingReport,
  type PaymentSums,
  runningBalances,
  orderStatements,
  areConsecutive,
  isRepetition,
  isSameStatement,
  countMissing,
  type StatementNumbering,
  statementNumberings,
  numberStep,
  formatPageId,
  readPageNumber,
  type StatementVersions,
} from './books.ts'
export {
  type Calendar,
  bankDay,
  isSettlementDay,
  isTargetDay,
  lastDayOnStatement,
  nextWindow,
  earliestSubmission,
  firstSettlementDay,
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
  formatAddress,
  isInForce,
  listMissingRequirements,
  formatMissing,
  type RequiredPayee,
  type Requirement,
  requirements,
  listRequirements,
} from './requirements.ts'
export {
  type DomesticAccount,
  accountTypeCodes,
  domesticCountry,
  domesticCurrencies,
  formatDomesticAccount,
  readAmericanNumber,
  readBritishNumber,
  parseDomesticAccount,
  readSortCode,
  routingProblem,
} from './domestic.ts'
export {
  bankKey,
  readBritishAccount,
  ibanCountries,
  describeIbanProblem,
  ibanProblem,
  isBic,
  isIban,
  isQrIban,
  qrMistake,
  qrMistakes,
  readQrReference,
  chooseRail,
  territoriesUsingIbans,
} from './ibans.ts'
export { missingDebtorFields, type PayerData, missingPayerFields, type PayerRegion, payerRegion } from './payer-data.ts'
