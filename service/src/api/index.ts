/**
 * The vocabulary between the gateway and the modules: caller, handlers, refusals, amounts, list cursors, nonces. Knows no
 * sockets and no SQL.
 */
export * from './amounts.ts'
export * from './caller.ts'
export * from './cursor.ts'
export * from './handlers.ts'
export * from './nonce.ts'
export * from './refusal.ts'
