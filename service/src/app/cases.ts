/** Composes the resolution of cases: decisions with their effects on payments, returns, reconciliation. */
import type { FactQueue } from '../inbox/index.ts'
import {
  type CaseOwners,
  type Cases,
  createCaseAssignment,
  createDecisions,
  createReturns,
  type Decisions,
  operatorPartnerId,
  type Returns,
} from '../cases/index.ts'
import type { Checkout } from '../checkout/index.ts'
import { createIsoBooks } from '../banks/files/index.ts'
import type { Clock, Log } from '../kernel/index.ts'
import type { Ledger } from '../ledger/index.ts'
import type { Deposits } from '../deposits/index.ts'
import type { Monitoring } from '../monitoring/index.ts'
import { requireDecider, checkStaffDeciders } from '../people/staff/index.ts'
import type { Database } from '../postgres/index.ts'
import type { BooksAccount } from '../rails/index.ts'
import { createReconciliation, type Reconciliation } from '../cases/reconciliation/index.ts'
import {
  type CancelEntry,
  type CandidatesDeps,
  type CaseEffectsDeps,
  createCancelEntry,
  createCandidateSources,
  createCaseEffects,
  createCaseRefusal,
  createLedgerLookup,
  createUndoPayment,
  type UndoPayment,
} from '../banks/settlement/index.ts'

type Deps = Pick<CaseEffectsDeps, 'access' | 'payoutLife' | 'screening'> &
  Pick<CandidatesDeps, 'findOwners'> & {
    readonly db: Database
    readonly clock: Clock
    readonly log: Log
    readonly cases: Cases
    readonly facts: FactQueue
    readonly ledger: Ledger
    readonly deposits: Deposits
    readonly checkout: Pick<Checkout, 'returnEnded'>
    readonly monitoring: Pick<Monitoring, 'payoutStanding'>
    /** The accounts at the configured file-based banks. */
    readonly bankAccounts: readonly BooksAccount[]
    readonly banks: Parameters<typeof createIsoBooks>[0]['banks']
  }

type CaseDecisions = {
  readonly decisions: Decisions
  readonly caseOwners: CaseOwners
  readonly returns: Returns
  readonly reconciliation: Reconciliation
  readonly undoPayment: UndoPayment
  readonly cancelEntry: CancelEntry
}

export function composeDecisions(deps: Deps): CaseDecisions {
  const { db, clock, ledger, cases, facts, banks, bankAccounts: accounts } = deps
  const books = createIsoBooks({ operatorId: operatorPartnerId, clock, banks })
  const returns = createReturns({ db, clock, ledger, record: cases.record, ended: deps.checkout.returnEnded })
  const refusal = createCaseRefusal(deps.monitoring)
  const effects = { ...createCaseEffects({ ...deps, books }), refusal, sendBack: returns.start }
  const decisions = createDecisions({ clock, ledger, facts, effects, requireDecider, judgeTwo: checkStaffDeciders })
  const inLedger = createLedgerLookup({ ...deps, returns })
  const candidates = createCandidateSources(deps)
  const reconciliation = createReconciliation({ ...deps, accounts, books, decisions, inLedger, candidates })
  return {
    decisions,
    caseOwners: createCaseAssignment({ clock }),
    returns,
    reconciliation,
    undoPayment: createUndoPayment({ ...deps, books }),
    cancelEntry: createCancelEntry({ ...deps, books }),
  }
}
