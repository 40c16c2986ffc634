/**
 * `node --test --test-global-setup=test/support/global.ts`: one database server, one browser and one service for all test
 * processes that can share them.
 */
import { startTestServer, TEMPLATE_VARIABLE, type TestServer } from './postgres.ts'
import type { TestService } from './service.ts'

let server: TestServer | undefined
let service: TestService | undefined

/** Names of the things that the files of this run share, set by scripts/test.ts: `browser`, `service`. */
const shared: readonly string[] = (process.env['TEST_SHARED'] ?? '').split(',')

export const globalSetup = async (): Promise<void> => {
  server = await startTestServer()
  process.env[TEMPLATE_VARIABLE] = server.templateUrl
  if (shared.includes('browser')) await (await import('./browser.ts')).prepareBrowser()
  if (shared.includes('service')) service = await (await import('./service.ts')).startSharedService()
}

export const globalTeardown = async (): Promise<void> => {
  await service?.dispose()
  await server?.stop()
}
