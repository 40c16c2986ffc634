/** Pure: the rules of a partner at the desk: the command that lists each kind, the columns that it prints, and the commands that change it. */

/** An option of a command as a field of a form. `choices`: it is one of these. */
export type SectionField = {
  readonly option: string
  readonly choices?: readonly string[]
  readonly optional?: true
}

export type Section = {
  readonly id:
    | 'balances'
    | 'blocks'
    | 'limits'
    | 'fees'
    | 'approvals'
    | 'coolingOffs'
    | 'gates'
    | 'recoveries'
    | 'credentials'
  readonly list: string
  readonly columns: readonly string[]
  readonly changes: readonly { readonly command: string; readonly fields: readonly SectionField[] }[]
  /** The command that removes a row, and the option and the column that name the row. */
  readonly removal?: { readonly command: string; readonly option: string; readonly column: string }
}

const currency: SectionField = { option: 'currency', choices: ['EUR', 'GBP', 'USD', 'USDC', 'EURC'] }
const states = ['Complete', 'Incomplete', 'Invalid']
const reasons: SectionField = {
  option: 'reason',
  choices: ['Compliance', 'CourtOrder', 'CustomerRequest', 'Fraud', 'PartnerRequest', 'Other'],
}
const optional = (option: string): SectionField => ({ option, optional: true })
const account = [{ ...currency, optional: true as const }, optional('customer'), reasons]
const switchOf = (option: string): SectionField => ({ option, choices: ['yes'], optional: true })
const byId = (command: string) => ({ command, option: 'id', column: 'id' })

export const sections: readonly Section[] = [
  {
    ...{ id: 'balances', list: 'ledger balances', columns: ['account', 'currency', 'posted', 'reserved', 'available'] },
    changes: [],
  },
  {
    ...{
      id: 'blocks',
      list: 'account list',
      columns: ['currency', 'customerId', 'state', 'reason', 'staff', 'changedAt'],
    },
    changes: [
      {
        command: 'account block',
        fields: [...account, { option: 'direction', choices: ['both', 'inbound', 'outbound'] }],
      },
      { command: 'account unblock', fields: account },
    ],
  },
  {
    ...{ id: 'limits', list: 'limit list' },
    columns: ['scope', 'scopeId', 'verificationState', 'period', 'currency', 'amount', 'allCurrencies'],
    changes: [
      {
        command: 'limit set',
        fields: [
          { option: 'scope', choices: ['partner', 'customer', 'beneficiary'] },
          { option: 'period', choices: ['payment', 'day', 'month'] },
          currency,
          { option: 'amount' },
          ...[
            optional('customer'),
            optional('beneficiary'),
            { option: 'state', choices: states, optional: true as const },
            switchOf('all-currencies'),
          ],
        ],
      },
    ],
    removal: byId('limit remove'),
  },
  {
    ...{
      id: 'fees',
      list: 'fee list',
      columns: ['rail', 'currency', 'fixed', 'basisPoints', 'min', 'max', 'validFrom'],
    },
    changes: [
      {
        command: 'fee set',
        fields: [
          ...[currency, { option: 'rail', choices: ['any', 'Sepa', 'Swift', 'Wallet'] }],
          ...['fixed', 'basis-points', 'min', 'max'].map(optional),
        ],
      },
    ],
    removal: byId('fee remove'),
  },
  {
    ...{ id: 'approvals', list: 'approval list' },
    columns: [
      'currency',
      'allCurrencies',
      'above',
      'aboveDay',
      'aboveBulk',
      'beneficiaryHours',
      'payeeMismatch',
      'perPerson',
      'expiresHours',
      'needsPasskey',
    ],
    changes: [
      {
        command: 'approval set',
        fields: [
          currency,
          ...['above', 'above-day', 'above-bulk', 'beneficiary-hours', 'per-person', 'expires-hours'].map(optional),
          ...['payee-mismatch', 'passkey', 'all-currencies'].map(switchOf),
        ],
      },
    ],
    removal: byId('approval remove'),
  },
  {
    ...{ id: 'coolingOffs', list: 'cooling-off list', columns: ['currency', 'hours'] },
    changes: [{ command: 'cooling-off set', fields: [currency, { option: 'hours' }] }],
    removal: byId('cooling-off remove'),
  },
  {
    ...{ id: 'gates', list: 'gate list', columns: ['verificationState', 'allowed'] },
    changes: [{ command: 'gate set', fields: [{ option: 'state', choices: states }, { option: 'allow' }] }],
    removal: { command: 'gate remove', option: 'state', column: 'verificationState' },
  },
  {
    ...{ id: 'recoveries', list: 'member recovery list' },
    columns: ['email', 'status', 'begunBy', 'reason', 'dueAt'],
    changes: [{ command: 'member recover', fields: [{ option: 'email' }, { option: 'identified-by' }] }],
    removal: byId('member recovery cancel'),
  },
  {
    ...{ id: 'credentials', list: 'service-account list' },
    columns: ['name', 'status', 'permissions', 'impersonatedBy', 'lastUsedAt', 'expiresAt'],
    changes: [],
    removal: { command: 'service-account revoke', option: 'id', column: 'serviceAccountId' },
  },
]
