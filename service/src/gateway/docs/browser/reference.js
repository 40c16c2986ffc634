/**
 * Starts swagger-ui. Without a validator, because its badge would send the URL to swagger.io. Without the "Authorize"
 * dialog, because it cannot sign.
 */
const root = document.getElementById('docs')
const canTry = root.dataset.try === 'on'
const trying = canTry ? await import('/docs/try.js') : undefined

const nothing = () => () => null
/** Webhooks are requests to the partner: nothing on this page can send them. */
const triesOperationsOnly = (Original, system) => (props) =>
  props.specPath.first() === 'webhooks'
    ? system.React.createElement(Original, { ...props, allowTryItOut: false })
    : system.React.createElement(Original, props)

const withoutDeadDialogs = () => ({
  wrapComponents: {
    authorizeBtn: nothing,
    authorizeOperationBtn: nothing,
    OperationContainer: triesOperationsOnly,
  },
})

globalThis.SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  displayOperationId: true,
  showExtensions: false,
  supportedSubmitMethods: canTry ? ['get', 'post', 'put', 'patch', 'delete'] : [],
  tryItOutEnabled: false,
  validatorUrl: null,
  plugins: [withoutDeadDialogs],
  requestInterceptor: trying?.signInterceptor,
})
trying?.startTrying()
