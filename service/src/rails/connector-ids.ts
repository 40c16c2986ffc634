/** The ids of connectors: the settings that choose a payment's connector know their format. */
export const sandboxConnectorId = 'sandbox'
/** The connector of payouts to an account of this service. No setting can choose it. */
export const internalConnectorId = 'internal'
export const simulatedChainConnectorId = 'sandbox-chain'

/** The connector of a file-based bank: `iso20022`, or `iso20022-<name>`. */
export const isoConnectorId = (name: string | undefined): string =>
  name === undefined ? 'iso20022' : `iso20022-${name}`
const isoConnectorForm = /^iso20022(?:-[a-z0-9][a-z0-9-]{0,39})?$/
export const isIsoConnectorId = (id: string): boolean => isoConnectorForm.test(id)

export const chainConnectorId = (chainId: number): string => `evm-${chainId}`
const evmConnectorForm = /^evm-[1-9]\d{0,15}$/
export const isChainConnectorId = (id: string): boolean => id === simulatedChainConnectorId || evmConnectorForm.test(id)
