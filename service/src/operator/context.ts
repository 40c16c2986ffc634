/** Dependencies of the commands. */
import type { Service } from '../app/compose.ts'
import type { Config } from '../app/config.ts'
import { publicUrlOf } from '../app/derived-settings.ts'
import { sandboxAddress } from '../app/seed.ts'
import type { Database } from '../postgres/index.ts'
import type { Typed } from './declaration.ts'
import type { CommandName, OptionsOf } from './declarations.ts'

export type Context = {
  readonly service: Pick<
    Service,
    | 'access'
    | 'accounts'
    | 'audit'
    | 'beneficiaries'
    | 'cancellations'
    | 'cancelEntry'
    | 'cases'
    | 'chainKeys'
    | 'closePartner'
    | 'customers'
    | 'decisions'
    | 'holdOf'
    | 'deposits'
    | 'isoBanks'
    | 'ledger'
    | 'members'
    | 'monitoring'
    | 'openPartner'
    | 'payoutControls'
    | 'payoutLife'
    | 'payouts'
    | 'rates'
    | 'recalls'
    | 'reconciliation'
    | 'safeguarding'
    | 'screener'
    | 'screening'
    | 'sealer'
    | 'sealedColumns'
    | 'staff'
    | 'tellOfImpersonation'
    | 'undoPayment'
  >
  readonly db: Database
  readonly config: Config
  readonly databaseUrl: string
}

/** A credential as it is printed once: with the address of the API, so that a client needs nothing else. */
export const withBaseUrl = <T extends object>({ config }: Pick<Context, 'config'>, credential: T) => ({
  // A sandbox may listen on a port that the environment of the command does not have.
  baseUrl: (config.MODE === 'sandbox' && !config.PUBLIC_URL && sandboxAddress(config.DATA_DIR)) || publicUrlOf(config),
  ...credential,
})

/** A result that is too long for memory writes its parts itself, and waits for the reader of each. */
export type Result = object | ((write: Write) => Promise<void>)

/** Prints a part of a result. Resolves when it is on its way to the reader. */
export type Write = (text: string) => Promise<void>

/** A command with its options as they were typed, and the person for whom it acts. `staff` is the name of the account, if one has signed in. */
export type Call = {
  readonly command: CommandName
  readonly typed: Typed
  readonly staff?: string
  readonly staffId?: string
  /** `needed`: the command waits for a second person. Else the person who has approved the change. */
  readonly second?: 'needed' | { readonly changeId: string; readonly id: string; readonly fullName: string }
}

/** Shows a question at a terminal. True: the person has answered yes. */
export type Ask = (question: string) => Promise<boolean>

/** Commands that run before a database is opened. */
export type OfflineName = 'backup restore' | 'safeguarding verify'

/** The functions of these commands. Each receives the options of its own declaration, and no others. */
export type CommandsOf<P extends string> = {
  readonly [N in Extract<CommandName, P>]: (
    context: Context,
    options: OptionsOf<N>,
    call: Call,
  ) => Result | Promise<Result>
}
