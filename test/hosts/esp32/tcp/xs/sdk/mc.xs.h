/* Identifiers by name, instead of the SDK's generated numbers. */
#define xsID_address xsID("address")
#define xsID_format xsID("format")
#define xsID_onError xsID("onError")
#define xsID_onReadable xsID("onReadable")
#define xsID_onWritable xsID("onWritable")
#define xsID_port xsID("port")
