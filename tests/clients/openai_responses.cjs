// The openai SDK, Responses over HTTP. usage: openai_responses.cjs BASE_URL
"use strict";

const { hold } = require("./conversation.cjs");
const { Responses } = require("./responses.cjs");

hold(new Responses());
