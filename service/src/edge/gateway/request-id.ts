/** The id of a request: the caller's, if it is well-formed, so that it joins the logs of both sides. */
import type { IncomingMessage } from 'node:http'
import { newId } from '../../kernel/index.ts'

export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(given) ? given : newId()
}
