/**
 * The vocabulary that the gateway and the modules share: caller, handlers, refusals, amounts, times, list cursors, nonces.
 * Contains no HTTP and no SQL.
 */
export * from './public.ts'
export * from './amounts.ts'
export * from './handlers.ts'
export * from './writer.ts'
export * from './link.ts'
export * from './refusal.ts'
