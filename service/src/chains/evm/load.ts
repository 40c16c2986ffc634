/** Loads `viem.ts` at its first use. */
import type * as viem from './viem.ts'

type Evm = typeof viem

let loading: Promise<Evm> | undefined
export const loadEvm = (): Promise<Evm> => (loading ??= import('./viem.ts'))
