/** Loads `viem.ts` at its first use. */
export type Evm = typeof import('./viem.ts')

let loading: Promise<Evm> | undefined
export const loadEvm = (): Promise<Evm> => (loading ??= import('./viem.ts'))
