/** The places in which a request is counted while it is carried out: those that all callers share, or those for calls to chosen hosts. */
import { AsyncLocalStorage } from 'node:async_hooks'

/** A route or an operation. `callsChosenHost`: it waits for a host that a partner or a stranger has chosen. */
export type Admitted = { readonly callsChosenHost?: true }

const shared = new AsyncLocalStorage<boolean>()

/** Carries out an admitted request. */
export const admitted = <T>(asked: Admitted, work: () => T): T => shared.run(asked.callsChosenHost !== true, work)

/** Reports whether the work at hand holds a place that all callers share. */
export const isInSharedAdmission = (): boolean => shared.getStore() === true
