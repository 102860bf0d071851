/** Background responses that are due. */
export const RESPONSE_QUEUE = 'responses'

/** Background responses that have told more, ended or gone are announced on this topic, to whoever follows them. */
export const RESPONSE_TOPIC = 'response'
/** Those that are to end as cancelled, to the worker that has them. */
export const RESPONSE_CANCEL_TOPIC = 'response-cancel'
